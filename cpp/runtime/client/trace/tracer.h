#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/client/session/session.h"
#include "runtime/client/session/trace_sink.h"
#include "runtime/client/trace/trace.h"

namespace remotecl {

class CommandQueue;

// Learns the times of single commands, which need not belong to a trace. Any thread.
class SampleSink {
 public:
  virtual void sampled(std::uint64_t sample, const CommandTraced& times) = 0;

 protected:
  ~SampleSink() = default;
};

// Records the commands and transfers of this process while a trace is running; otherwise it costs a look at a
// flag. One for the process; any thread.
//
// The thread that enqueues a command creates its record, and commits it when the command is sent, with a flag
// that asks the server for its times. Servers report when they like. The end of the trace waits for the
// reports and only then evaluates them.
class Tracer final : public TraceSink {
 public:
  static Tracer& instance();

  // Whether a trace is running, or was a moment ago; records that come too late are dropped.
  static bool on() { return on_.load(std::memory_order_relaxed); }
  // Begins a trace of at most this many records. Returns false if one is running.
  bool start(std::uint64_t records_max);
  // Waits at most this long for commands that have not ended, and ends the trace. Returns null if none is
  // running.
  std::unique_ptr<Trace> stop(std::chrono::duration<double> patience);

  TraceRecordOwner make(CommandQueue& queue, cl_command_type type, bool is_transfer);
  // Takes a complete record. Returns its id, or 0 if it is null or does not fit.
  std::uint64_t commit(TraceRecordOwner record);
  // Sends the message of a record; id 0 means that there is no record. `sends`: it is the sending half of a
  // transfer.
  template <class Message>
  void send(Session& session, std::uint64_t record, const Message& message, bool sends = false) {
    if (record == 0) return session.send(message);
    const MutexLock lock(mutex_);
    session.send(message, flags_of(session, record, sends));
  }
  // The same, including commit(). `flags`: others of the message.
  template <class Message>
  void send(Session& session, TraceRecordOwner record, const Message& message, std::uint16_t flags) {
    const MutexLock lock(mutex_);
    const std::uint64_t sample = record->sample;
    const std::uint64_t id = add(std::move(record));
    if (sample != 0) [[unlikely]]
      return send_sample(session, id, sample, message, flags);
    session.send(message, id == 0 ? flags : flags | flags_of(session, id, false));
  }

  // Reports the times of commands whose records have a `sample`, a number of the sink's own, to it. Set once.
  void sample_for(SampleSink& sink);

  // Called by sessions.
  void report(Session& session, const CommandTraced& report) override;
  void arrived(std::uint64_t record) override;
  void crossed(std::uint64_t record, std::uint64_t bytes) override;
  void lost() override;

 private:
  enum class State { kIdle, kStarting, kRunning, kStopping };
  // A traced command, or half of a transfer between servers.
  struct Asked {
    std::uint64_t record;
    bool sends;
  };
  struct Server {
    Session* session;
    std::uint64_t asked_before;  // in earlier traces
    std::vector<Asked> asked;    // commands whose times were asked for, in the order of sending
    ClockLine::Point at_begin;
    bool has_begin;
  };
  struct Report {
    const Session* session;
    CommandTraced times;
  };
  // A number of commands for each session. Lost sessions are kept, because another session may reuse their
  // index.
  using Counts = std::unordered_map<const Session*, std::uint64_t>;

  // The server is asked to report at once.
  template <class Message>
  void send_sample(Session& session, std::uint64_t record, std::uint64_t sample, const Message& message,
                   std::uint16_t flags) REQUIRES(mutex_) {
    session.send(message, flags | sample_flags_of(session, record, sample));
    session.send(FlushTrace{});
  }
  std::uint16_t sample_flags_of(Session& session, std::uint64_t record, std::uint64_t sample) REQUIRES(mutex_);
  void report_sample(const Session& session, const CommandTraced& report) EXCLUDES(reports_mutex_);
  std::uint64_t add(TraceRecordOwner record) REQUIRES(mutex_);
  std::uint16_t flags_of(Session& session, std::uint64_t record, bool sends) REQUIRES(mutex_);
  Server& server(Session& session) REQUIRES(mutex_);
  std::uint32_t lane_of(Device* device) REQUIRES(mutex_);
  TraceRecord* find(std::uint64_t id) REQUIRES(mutex_);
  bool all_reported(const std::vector<Server>& servers) REQUIRES(reports_mutex_);
  void take_reports(const std::vector<Server>& servers) REQUIRES(mutex_);
  void take_report(const Server& server, const CommandTraced& times) REQUIRES(mutex_);
  void measure_clocks(Trace& trace, const std::vector<Server>& servers);

  static constexpr std::uint32_t kNoIndex = ~std::uint32_t{0};

  static std::atomic<bool> on_;
  std::atomic<std::uint64_t> next_{1};

  // Reports are queued under their own mutex, so that the reading thread never blocks on a sender.
  Mutex reports_mutex_;
  ConditionVariable changed_;
  bool is_stopping_ GUARDED_BY(reports_mutex_) = false;
  std::uint64_t reports_max_ GUARDED_BY(reports_mutex_) = 0;  // 0: no trace is running
  Counts reported_before_ GUARDED_BY(reports_mutex_);         // numbers of earlier traces
  std::vector<Report> reports_ GUARDED_BY(reports_mutex_);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> arrivals_ GUARDED_BY(reports_mutex_);   // record, time
  std::vector<std::pair<std::uint64_t, std::uint64_t>> crossings_ GUARDED_BY(reports_mutex_);  // record, bytes
  Counts reported_ GUARDED_BY(reports_mutex_);                                                 // in this trace
  SampleSink* sample_sink_ GUARDED_BY(reports_mutex_) = nullptr;
  // The samples of commands whose times were not reported yet, by their number in the session.
  std::unordered_map<const Session*, std::unordered_map<std::uint64_t, std::uint64_t>> samples_
      GUARDED_BY(reports_mutex_);

  Mutex mutex_;  // acquired before reports_mutex_
  State state_ GUARDED_BY(mutex_) = State::kIdle;
  std::unique_ptr<Trace> trace_ GUARDED_BY(mutex_);
  std::uint64_t first_ GUARDED_BY(mutex_) = ~std::uint64_t{0};  // id of the trace's first record
  std::uint64_t records_max_ GUARDED_BY(mutex_) = 0;
  std::vector<std::uint32_t> indices_ GUARDED_BY(mutex_);  // of the trace's records, by id from first_ on
  std::unordered_map<Device*, std::uint32_t> lanes_ GUARDED_BY(mutex_);
  std::unordered_map<const Session*, Server> servers_ GUARDED_BY(mutex_);
  Counts asked_ GUARDED_BY(mutex_);  // in all traces
};

}  // namespace remotecl
