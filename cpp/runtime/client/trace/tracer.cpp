#include "runtime/client/trace/tracer.h"

#include <algorithm>

#include "runtime/client/objects/command_queue.h"
#include "runtime/client/objects/platform.h"

namespace remotecl {

namespace {

TraceRecord::Times times_of(const CommandTraced& report) {
  return {report.received_ns,      report.submitted_ns,
          report.ended_ns,         report.start_ns,
          report.end_ns,           true,
          report.has_profile != 0, static_cast<TransportKind>(report.transport)};
}

}  // namespace

std::atomic<bool> Tracer::on_{false};

Tracer& Tracer::instance() {
  static Tracer& tracer = *new Tracer;  // sessions may report commands as long as the process lives
  return tracer;
}

bool Tracer::start(std::uint64_t records_max) {
  TraceSink::set(*this);
  {
    const MutexLock lock(mutex_);
    if (state_ != State::kIdle) return false;
    state_ = State::kStarting;
  }
  std::vector<Server> servers;
  for (const ServerStatus& status : Platform::instance().servers()) {
    if (status.session == nullptr || status.session->lost()) continue;
    const ClockEstimate clock = estimate_clock(*status.session, kServerClock);
    servers.push_back({status.session, 0, {}, {clock.host_ns(), clock.offset_ns()}, clock.known()});
  }
  const MutexLock lock(mutex_);
  trace_ = std::make_unique<Trace>();
  trace_->begin_ns = host_time_ns();
  records_max_ = records_max;
  lanes_.clear();
  for (const Server& known : servers) {
    Server& entry = server(*known.session);
    entry.at_begin = known.at_begin;
    entry.has_begin = known.has_begin;
  }
  first_ = next_.fetch_add(1) + 1;
  {
    const MutexLock reports_lock(reports_mutex_);
    reports_max_ = 2 * records_max;  // transfers have two halves
    reported_before_ = asked_;       // samples, too
  }
  state_ = State::kRunning;
  on_ = true;
  return true;
}

std::unique_ptr<Trace> Tracer::stop(std::chrono::duration<double> patience) {
  std::vector<Server> servers;
  {
    const MutexLock lock(mutex_);
    if (state_ != State::kRunning) return nullptr;
    state_ = State::kStopping;  // nothing is added from now on
    on_ = false;
    trace_->end_ns = host_time_ns();
    for (auto& [session, entry] : servers_) servers.push_back(std::move(entry));
    servers_.clear();
  }
  for (const Server& entry : servers) {
    entry.session->send(FlushTrace{});
    entry.session->submit_now();
  }
  {
    MutexLock lock(reports_mutex_);
    is_stopping_ = true;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(patience);
    while (!all_reported(servers) && changed_.wait_until(reports_mutex_, end) == std::cv_status::no_timeout) {
    }
    is_stopping_ = false;
  }
  std::unique_ptr<Trace> trace;
  {
    const MutexLock lock(mutex_);
    take_reports(servers);
    trace = std::move(trace_);
    first_ = ~std::uint64_t{0};
    indices_ = {};
  }
  for (const auto& record : trace->records) {
    const bool is_lost = trace->lanes[record->lane].device->session().lost();
    if (record->status == CL_QUEUED && is_lost) record->status = CL_DEVICE_NOT_AVAILABLE;
  }
  for (const Server& entry : servers) entry.session->drop_interest();
  measure_clocks(*trace, servers);
  const MutexLock lock(mutex_);
  state_ = State::kIdle;
  return trace;
}

bool Tracer::all_reported(const std::vector<Server>& servers) {
  return std::all_of(servers.begin(), servers.end(), [this](const Server& entry) REQUIRES(reports_mutex_) {
    return reported_[entry.session] >= entry.asked.size() || entry.session->lost();
  });
}

void Tracer::take_reports(const std::vector<Server>& servers) {
  std::vector<Report> reports;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> arrivals, crossings;
  {
    const MutexLock lock(reports_mutex_);
    reports.swap(reports_);
    arrivals.swap(arrivals_);
    crossings.swap(crossings_);
    reported_.clear();
    reported_before_ = asked_;
    reports_max_ = 0;
  }
  std::unordered_map<const Session*, const Server*> by_session;
  for (const Server& entry : servers) by_session.emplace(entry.session, &entry);
  for (const Report& report : reports) {
    const auto server = by_session.find(report.session);
    if (server != by_session.end()) take_report(*server->second, report.times);
  }
  for (const auto& [id, time_ns] : arrivals) {
    if (TraceRecord* const record = find(id)) record->arrived_ns = time_ns;
  }
  for (const auto& [id, bytes] : crossings) {
    if (TraceRecord* const record = find(id)) record->wire_bytes = bytes;
  }
}

void Tracer::take_report(const Server& server, const CommandTraced& report) {
  if (report.number <= server.asked_before || report.number - server.asked_before > server.asked.size()) return;
  const Asked& asked = server.asked[report.number - server.asked_before - 1];
  TraceRecord* const record = find(asked.record);
  if (record == nullptr) return;
  if (asked.sends) {
    record->sending = std::make_unique<TraceRecord::Times>(times_of(report));
    if (report.status < 0) record->status = report.status;
  } else {
    record->times = times_of(report);
    record->status = report.status;
  }
}

// Measures how the clocks have drifted since the beginning. A device's clock is assumed to drift like its
// server's.
void Tracer::measure_clocks(Trace& trace, const std::vector<Server>& servers) {
  for (const Server& entry : servers) {
    ClockLine line(entry.at_begin);
    if (!entry.session->lost()) {
      const ClockEstimate clock = estimate_clock(*entry.session, kServerClock);
      const ClockLine::Point now{clock.host_ns(), clock.offset_ns()};
      if (clock.known()) line = entry.has_begin ? ClockLine(entry.at_begin, now) : ClockLine(now);
    }
    for (Trace::Lane& lane : trace.lanes) {
      if (&lane.device->session() != entry.session) continue;
      lane.server_clock = lane.device_clock = line;
    }
  }
  std::vector<bool> is_profiled(trace.lanes.size());
  for (const auto& record : trace.records) {
    if (record->times.has_profile) is_profiled[record->lane] = true;
  }
  for (std::size_t i = 0; i < trace.lanes.size(); ++i) {
    Device& device = *trace.lanes[i].device;
    if (!is_profiled[i]) continue;
    const ClockEstimate clock =
        device.session().lost() ? ClockEstimate() : estimate_clock(device.session(), device.root().index());
    if (!clock.known()) {
      trace.lanes[i].device_clock = ClockLine({0, device.clock_offset_ns()});
    } else {
      trace.lanes[i].device_clock = trace.lanes[i].server_clock.through({clock.host_ns(), clock.offset_ns()});
    }
  }
}

TraceRecordOwner Tracer::make(CommandQueue& queue, cl_command_type type, bool is_transfer) {
  TraceRecordOwner record(new TraceRecord);
  record->id = next_.fetch_add(1, std::memory_order_relaxed);
  record->queued_ns = host_time_ns();
  record->type = type;
  record->is_transfer = is_transfer;
  record->device = &queue.device();
  if (CommandQueue* known = queue.known()) {
    record->queue.handle = reinterpret_cast<std::uintptr_t>(known->handle());
    record->queue.known_id = known->id();
  }
  record->queue.id = queue.id();
  record->queue.in_order = queue.in_order();
  return record;
}

std::uint64_t Tracer::commit(TraceRecordOwner record) {
  if (record == nullptr) return 0;
  const MutexLock lock(mutex_);
  return add(std::move(record));
}

std::uint64_t Tracer::add(TraceRecordOwner record) {
  if (state_ != State::kRunning || record->id < first_) return 0;
  if (trace_->records.size() >= records_max_) {
    ++trace_->dropped;
    return 0;
  }
  record->lane = lane_of(record->device);
  if (record->move) {
    record->move->from_lane = lane_of(record->move->from);
    record->move->to_lane = lane_of(record->move->to);
  }
  const std::uint64_t id = record->id, offset = id - first_;
  if (indices_.size() <= offset) indices_.resize(offset + 1, kNoIndex);
  indices_[offset] = static_cast<std::uint32_t>(trace_->records.size());
  trace_->records.push_back(std::move(record));
  return id;
}

std::uint16_t Tracer::flags_of(Session& session, std::uint64_t record, bool sends) {
  if (state_ != State::kRunning || record < first_ || session.lost()) return 0;
  server(session).asked.push_back({record, sends});
  ++asked_[&session];
  return kTracedMessage;
}

std::uint16_t Tracer::sample_flags_of(Session& session, std::uint64_t record, std::uint64_t sample) {
  if (session.lost()) return 0;
  if (state_ == State::kRunning) {
    server(session).asked.push_back({record, false});
  }
  const std::uint64_t number = ++asked_[&session];
  const MutexLock lock(reports_mutex_);
  samples_[&session][number] = sample;
  return kTracedMessage;
}

void Tracer::sample_for(SampleSink& sink) {
  TraceSink::set(*this);
  const MutexLock lock(reports_mutex_);
  sample_sink_ = &sink;
}

void Tracer::report_sample(const Session& session, const CommandTraced& report) {
  std::uint64_t sample = 0;
  SampleSink* sink = nullptr;
  {
    const MutexLock lock(reports_mutex_);
    const auto of_session = samples_.find(&session);
    if (of_session == samples_.end()) return;
    const auto at = of_session->second.find(report.number);
    if (at == of_session->second.end()) return;
    sample = at->second;
    sink = sample_sink_;
    of_session->second.erase(at);
    if (of_session->second.empty()) samples_.erase(of_session);
  }
  if (sink != nullptr) sink->sampled(sample, report);
}

Tracer::Server& Tracer::server(Session& session) {
  const auto [at, is_new] = servers_.try_emplace(&session, Server{&session, asked_[&session], {}, {}, false});
  if (is_new) session.add_interest();  // something must read its reports
  return at->second;
}

std::uint32_t Tracer::lane_of(Device* device) {
  if (device == nullptr) return TraceRecord::kClient;
  const auto [at, is_new] = lanes_.try_emplace(device, static_cast<std::uint32_t>(trace_->lanes.size()));
  if (is_new) trace_->lanes.push_back({Ref<Device>(device), {}, {}});
  return at->second;
}

TraceRecord* Tracer::find(std::uint64_t id) {
  if (trace_ == nullptr || id < first_ || id - first_ >= indices_.size()) return nullptr;
  const std::uint32_t index = indices_[id - first_];
  return index == kNoIndex ? nullptr : trace_->records[index].get();
}

void Tracer::report(Session& session, const CommandTraced& report) {
  report_sample(session, report);
  const MutexLock lock(reports_mutex_);
  if (report.number <= reported_before_[&session]) return;  // of an earlier trace
  if (reports_.size() >= reports_max_) return;              // more than were asked for
  reports_.push_back({&session, report});
  ++reported_[&session];
  if (is_stopping_) changed_.notify_all();
}

void Tracer::arrived(std::uint64_t id) {
  const MutexLock lock(reports_mutex_);
  if (reports_max_ != 0) arrivals_.emplace_back(id, host_time_ns());
}

void Tracer::crossed(std::uint64_t id, std::uint64_t bytes) {
  const MutexLock lock(reports_mutex_);
  if (reports_max_ != 0) crossings_.emplace_back(id, bytes);
}

void Tracer::lost() {
  const MutexLock lock(reports_mutex_);
  changed_.notify_all();
}

}  // namespace remotecl
