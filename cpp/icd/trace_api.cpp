// Traces and events, for tools.
#include <charconv>

#include "icd/command_names.h"
#include "icd/json_result.h"
#include "remotecl/remotecl.h"
#include "runtime/client/objects/event.h"
#include "runtime/client/support/fork_guard.h"
#include "runtime/client/trace/tracer.h"

namespace {

using namespace remotecl;
using icd::command_name;
using nlohmann::json;

// A trace may have a million records, so their text is written as it comes, without building a tree of
// values.
class RowWriter {
 public:
  explicit RowWriter(std::string& text) : text_(text) {}

  void begin() { text_ += text_.back() == '[' ? "[" : ",["; }
  void end() { text_ += ']'; }
  void value(std::int64_t number) {
    comma();
    char digits[24];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }
  void value(const std::string& text) {
    comma();
    text_ += json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  }
  void nothing() {
    comma();
    text_ += "null";
  }
  template <class Numbers>
  void list(const Numbers& numbers) {
    comma();
    text_ += '[';
    for (const auto number : numbers) value(static_cast<std::int64_t>(number));
    text_ += ']';
  }

 private:
  void comma() {
    if (text_.back() != '[') text_ += ',';
  }

  std::string& text_;
};

constexpr const char* kColumns[] = {"kind",        "name",     "lane",       "queue",   "queue_id",   "in_order",
                                    "status",      "bytes",    "wire_bytes", "buffers", "depends_on", "source",
                                    "destination", "queued",   "received",   "submit",  "start",      "end",
                                    "arrived",     "profiled", "transport"};

std::int64_t lane_number(std::uint32_t lane) { return lane == TraceRecord::kClient ? -1 : std::int64_t{lane}; }

void write_record(RowWriter& row, const Trace& trace, const TraceRecord& record, const TimedRecord& timed) {
  const std::string kind = record.is_transfer ? "transfer" : command_name(record.type);
  const auto time = [&](std::uint64_t time_ns) {
    time_ns == 0 ? row.nothing() : row.value(static_cast<std::int64_t>(time_ns - trace.begin_ns));
  };
  row.begin();
  row.value(kind);
  row.value(record.kernel.empty() ? kind : record.kernel);
  row.value(record.lane);
  row.value(static_cast<std::int64_t>(record.queue.handle));
  row.value(static_cast<std::int64_t>(record.queue.known_id));
  row.value(record.queue.in_order ? 1 : 0);
  row.value(record.status);
  record.move || record.bytes != 0 ? row.value(static_cast<std::int64_t>(record.bytes)) : row.nothing();
  record.wire_bytes ? row.value(static_cast<std::int64_t>(*record.wire_bytes)) : row.nothing();
  row.list(record.buffers);
  row.list(timed.waits_for);
  record.move ? row.value(lane_number(record.move->from_lane)) : row.nothing();
  record.move ? row.value(lane_number(record.move->to_lane)) : row.nothing();
  for (const std::uint64_t time_ns :
       {record.queued_ns, timed.received, timed.submit, timed.start, timed.end, record.arrived_ns}) {
    time(time_ns);
  }
  row.value(timed.is_profiled ? 1 : 0);
  const std::string_view transport = name_of(record.transport());
  transport.empty() ? row.nothing() : row.value(std::string(transport));
  row.end();
}

json device_json(const Device& device) {
  return {{"server", device.session().address().text()},
          {"device", device.text(CL_DEVICE_NAME)},
          {"index", device.index()}};
}

std::string trace_text(const Trace& trace) {
  json head{{"duration_ns", trace.end_ns - trace.begin_ns}, {"dropped", trace.dropped}};
  head["lanes"] = json::array();
  for (const Trace::Lane& lane : trace.lanes) head["lanes"].push_back(device_json(*lane.device));
  head["columns"] = kColumns;
  std::string text = head.dump(-1, ' ', false, json::error_handler_t::replace);
  text.pop_back();
  text += ",\"records\":[";
  const std::vector<TimedRecord> timed = timed_records(trace);
  RowWriter row(text);
  for (std::size_t i = 0; i < timed.size(); ++i) write_record(row, trace, *trace.records[i], timed[i]);
  text += "]}";
  return text;
}

json event_json(Event& event) {
  const EventDescription& description = event.description();
  const std::string kind = command_name(description.type);
  json result{{"event", event.id()},
              {"kind", kind},
              {"name", description.kernel_name.empty() ? kind : description.kernel_name},
              {"status", event.is_user_event() ? event.status() : event.poll_status()},
              {"waits", description.waits},
              {"place", event.sequence()},
              {"queue", 0},
              {"in_order", false},
              {"times", nullptr}};
  CommandQueue* const queue = event.queue();
  if (queue == nullptr) return result;
  result.update(device_json(queue->device()));
  result["queue"] = reinterpret_cast<std::uintptr_t>((queue->is_internal() ? queue : queue->known())->handle());
  result["in_order"] = queue->in_order();
  std::array<std::uint64_t, 4> times{};
  const bool has_ended = event.ended() && !queue->session().lost();
  if (queue->profiling() && has_ended && event.profile(times)) result["times"] = times;
  return result;
}

}  // namespace

extern "C" {

int remotecl_trace_start(uint64_t records_max, char** error) {
  std::string text = "a trace is running already; end it before another one begins";
  try {
    if (in_forked_child()) {
      text = forked_text();
    } else if (Tracer::instance().start(records_max == 0 ? REMOTECL_TRACE_RECORDS : records_max)) {
      return 0;
    }
  } catch (const std::exception& failure) {
    text = failure.what();
  }
  if (error != nullptr) *error = copy_json(json(text));
  return -1;
}

char* remotecl_trace_stop(double wait_s) {
  return json_result([&] {
    const auto trace = Tracer::instance().stop(std::chrono::duration<double>(std::clamp(wait_s, 0.0, 1e6)));
    if (trace == nullptr) throw std::logic_error("no trace is running");
    return trace_text(*trace);
  });
}

char* remotecl_events_json(const cl_event* events, size_t count) {
  return json_result([&] {
    json result = json::array();
    for (std::size_t i = 0; i < count; ++i) {
      Event* const event = from_handle<Event>(events[i]);
      result.push_back(event == nullptr ? json() : event_json(*event));
    }
    return result;
  });
}
}
