#include "runtime/client/trace/trace.h"

#include <algorithm>
#include <unordered_map>

namespace remotecl {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

std::uint64_t on_host(const ClockLine& clock, std::uint64_t time_ns) {
  return time_ns == 0 ? 0 : clock.to_host(time_ns);
}

TimedRecord with_host_times(const Trace& trace, const TraceRecord& record) {
  TimedRecord timed;
  const TraceRecord::Times& times = record.times;
  const Trace::Lane& lane = trace.lanes[record.lane];
  const bool is_sent = record.sending != nullptr;
  const TraceRecord::Times& first = is_sent ? *record.sending : times;
  const ClockLine& first_clock = is_sent ? trace.lanes[record.move->from_lane].server_clock : lane.server_clock;
  timed.received = on_host(first_clock, first.received);
  timed.submit = on_host(first_clock, first.submitted);
  timed.is_profiled = times.has_profile && !is_sent;
  timed.start = timed.is_profiled ? on_host(lane.device_clock, times.start) : timed.submit;
  timed.end = timed.is_profiled ? on_host(lane.device_clock, times.end) : on_host(lane.server_clock, times.ended);
  if (record.arrived_ns != 0 && !timed.is_profiled) timed.end = std::min(timed.end, record.arrived_ns);
  if (!times.reported) timed.start = timed.end = 0;
  return timed;
}

// The predecessors of each record, by its queue and by events. Those have smaller indices, because a
// record is committed after the ones that it waits for.
class Order {
 public:
  explicit Order(const Trace& trace) : before_in_queue(trace.records.size(), kNone), waits(trace.records.size()) {
    std::unordered_map<ObjectId, std::uint32_t> newest;
    for (std::uint32_t i = 0; i < trace.records.size(); ++i) {
      const TraceRecord& record = *trace.records[i];
      for (const TraceRecord::Wait& wait : record.waits) add(i, find(wait));
      if (record.event != 0) by_event_[record.event] = i;
      if (record.position != 0) by_position_[record.queue.id][record.position] = i;
      if (!record.queue.in_order || record.queue.handle == 0) continue;
      const auto [at, is_first] = newest.try_emplace(record.queue.id, i);
      if (!is_first) before_in_queue[i] = std::exchange(at->second, i);
    }
  }

  std::vector<std::uint32_t> before_in_queue;
  std::vector<std::vector<std::uint32_t>> waits;

 private:
  std::uint32_t find(const TraceRecord::Wait& wait) const {
    if (wait.queue == 0) {
      const auto at = by_event_.find(wait.number);
      return at == by_event_.end() ? kNone : at->second;
    }
    const auto queue = by_position_.find(wait.queue);
    if (queue == by_position_.end()) return kNone;
    const auto at = queue->second.find(wait.number);
    return at == queue->second.end() ? kNone : at->second;
  }
  void add(std::uint32_t index, std::uint32_t wait) {
    auto& list = waits[index];
    if (wait != kNone && std::find(list.begin(), list.end(), wait) == list.end()) list.push_back(wait);
  }

  std::unordered_map<EventId, std::uint32_t> by_event_;
  std::unordered_map<ObjectId, std::unordered_map<std::uint64_t, std::uint32_t>> by_position_;
};

template <class Function>
void for_each_before(const Order& order, std::uint32_t index, Function&& function) {
  if (order.before_in_queue[index] != kNone) function(order.before_in_queue[index]);
  for (const std::uint32_t before : order.waits[index]) function(before);
}

}  // namespace

std::vector<TimedRecord> timed_records(const Trace& trace) {
  const auto count = static_cast<std::uint32_t>(trace.records.size());
  std::vector<TimedRecord> timed;
  for (const auto& record : trace.records) timed.push_back(with_host_times(trace, *record));
  Order order(trace);
  // A failed command need not have waited for anything.
  const auto has_run = [&](std::uint32_t i) { return trace.records[i]->status == CL_COMPLETE && timed[i].end != 0; };
  for (std::uint32_t i = count; i-- > 0;) {
    if (!has_run(i)) continue;
    const std::uint64_t latest = timed[i].is_profiled ? timed[i].start : timed[i].end;
    for_each_before(order, i, [&](std::uint32_t before) {
      if (!timed[before].is_profiled && has_run(before)) timed[before].end = std::min(timed[before].end, latest);
    });
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    TimedRecord& one = timed[i];
    const std::uint64_t queued = trace.records[i]->queued_ns;
    if (has_run(i) && !one.is_profiled) {
      for_each_before(order, i, [&](std::uint32_t before) {
        if (has_run(before)) one.start = std::max(one.start, timed[before].end);
      });
      one.start = std::min(one.start, one.end);
    }
    if (one.received != 0) one.received = std::max(one.received, queued);
    if (one.submit != 0) one.submit = std::max(one.submit, one.received);
    if (one.start != 0) one.start = std::max(one.start, one.submit);
    if (one.end != 0) one.end = std::max({one.end, one.start, queued});
    one.waits_for = std::move(order.waits[i]);
  }
  return timed;
}

}  // namespace remotecl
