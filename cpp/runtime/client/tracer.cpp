#include "runtime/client/tracer.h"

#include "runtime/client/command_queue.h"
#include "runtime/client/platform.h"

namespace remotecl {

std::atomic<bool> Tracer::on_{false};

Tracer& Tracer::instance() {
  static Tracer& tracer = *new Tracer;  // sessions may tell of commands as long as the process lives
  return tracer;
}

bool Tracer::start(std::uint64_t records_max) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::kIdle) return false;
    state_ = State::kStarting;
  }
  std::vector<Server> servers;
  for (const ServerStatus& status : Platform::instance().servers()) {
    if (status.session == nullptr || status.session->lost()) continue;
    const ClockEstimate clock = estimate_clock(*status.session, kServerClock);
    servers.push_back({status.session, 0, {clock.host_ns(), clock.offset_ns()}, clock.known()});
  }
  const std::lock_guard lock(mutex_);
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
  state_ = State::kRunning;
  on_ = true;
  return true;
}

std::unique_ptr<Trace> Tracer::stop(std::chrono::duration<double> patience) {
  std::vector<Server> servers;
  std::unique_ptr<Trace> trace;
  {
    std::unique_lock lock(mutex_);
    if (state_ != State::kRunning) return nullptr;
    state_ = State::kStopping;
    on_ = false;
    trace_->end_ns = host_time_ns();
    std::vector<Session*> sessions;
    for (const auto& entry : servers_) {
      if (entry != nullptr) sessions.push_back(entry->session);
    }
    lock.unlock();
    for (Session* session : sessions) {
      session->send(FlushTrace{});
      session->flush();
    }
    lock.lock();
    changed_.wait_for(lock, patience, [this] { return all_told(); });
    for (const auto& record : trace_->records) {
      const bool is_lost = trace_->lanes[record->lane].device->session().lost();
      if (record->status == CL_QUEUED && is_lost) record->status = CL_DEVICE_NOT_AVAILABLE;
    }
    trace = std::move(trace_);
    first_ = ~std::uint64_t{0};
    indices_ = {};
    for (auto& entry : servers_) {
      if (entry == nullptr) continue;
      entry->session->drop_interest();
      servers.push_back(*entry);
      entry.reset();
    }
  }
  measure_clocks(*trace, servers);
  const std::lock_guard lock(mutex_);
  state_ = State::kIdle;
  return trace;
}

bool Tracer::all_told() const {
  for (const auto& entry : servers_) {
    if (entry != nullptr && entry->outstanding != 0 && !entry->session->lost()) return false;
  }
  return true;
}

// How the clocks have drifted since the begin. That of a device is taken to drift as its server's does.
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
  if (!queue.is_internal()) record->queue_handle = reinterpret_cast<std::uintptr_t>(queue.handle());
  record->queue = queue.id();
  record->in_order = queue.in_order();
  return record;
}

std::uint64_t Tracer::commit(TraceRecordOwner record) {
  if (record == nullptr) return 0;
  const std::lock_guard lock(mutex_);
  if (state_ != State::kRunning || record->id < first_) return 0;
  if (trace_->records.size() >= records_max_) {
    ++trace_->dropped;
    return 0;
  }
  record->lane = lane_of(record->device);
  if (record->is_move) {
    record->from_lane = lane_of(record->from);
    record->to_lane = lane_of(record->to);
  }
  const std::uint64_t id = record->id, offset = id - first_;
  if (indices_.size() <= offset) indices_.resize(offset + 1, kNoIndex);
  indices_[offset] = static_cast<std::uint32_t>(trace_->records.size());
  trace_->records.push_back(std::move(record));
  return id;
}

bool Tracer::expect(Session& session, std::uint64_t record) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kRunning || record < first_) return false;
  ++server(session).outstanding;
  return true;
}

Tracer::Server& Tracer::server(Session& session) {
  auto& entry = servers_[session.index()];
  if (entry == nullptr) {
    entry = std::make_unique<Server>(Server{&session});
    session.add_interest();  // somebody has to read what it tells
  }
  return *entry;
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
  const std::lock_guard lock(mutex_);
  const std::uint64_t id = report.record >> 1;
  const bool sends = (report.record & 1) != 0;
  Server* const from = servers_[session.index()].get();
  TraceRecord* const record = find(id);
  if (from == nullptr || record == nullptr || from->outstanding == 0) return;  // of a trace that has ended
  TraceRecord::Times& times = sends ? record->sending : record->times;
  times = {report.received_ns,     report.submitted_ns, report.ended_ns, report.start_ns, report.end_ns, true,
           report.has_profile != 0};
  if (!sends || report.status < 0) record->status = report.status;
  if (--from->outstanding == 0 && state_ == State::kStopping) changed_.notify_all();
}

void Tracer::arrived(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  if (TraceRecord* const record = find(id)) record->arrived_ns = host_time_ns();
}

void Tracer::lost() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

}  // namespace remotecl
