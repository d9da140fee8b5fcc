#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/host_time.h"
#include "runtime/protocol/messages.h"
#include "server/execution/driver_backlog.h"
#include "server/execution/event_table.h"
#include "server/execution/issue.h"
#include "server/execution/queue_watch.h"
#include "server/execution/turn_gates.h"
#include "server/quota/held_memory.h"
#include "server/quota/session_counters.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// Decides when a command may go to the native driver: at once if native events and queue order suffice, else
// when the graph releases it. Owned by a session.
//
// A command is a copyable type with
//   cl_int issue(Issue&)   passes it to the driver; on failure nothing was enqueued
//   void keep()            optional; called once if the command has to wait: from then on it must not refer
//                          to the received message
//   void failed(cl_int)    optional; the command will not be executed
//   static constexpr bool kReplies  optional; the client would wait forever if the command failed, so the
//                          session ends if the command cannot be held
//   static constexpr bool kNeedsNoDriver  optional; it is issued even if the driver refused the queue
//   static constexpr bool kHasBytesBefore  optional; what it writes is there before, in case it does not begin
//   static constexpr bool kLong
// A long command moves bulk data. It ends with TransferTable::finish, and holds back what comes after it
// until then.
class Issuer {
 public:
  Issuer(Strand& strand, EventTable& events, QueueWatch& queue_watch, const Ref<SessionCounters>& counters)
      : events_(events), queue_watch_(queue_watch), counters_(counters), gates_(strand, events) {}
  Issuer(const Issuer&) = delete;
  Issuer& operator=(const Issuer&) = delete;

  // See EventTable::begin.
  Event* begin_event(EventId id, Queue& queue, bool reports_unasked, bool unhurried = false) REQUIRES(session_lock) {
    counters_->count_command();
    return events_.begin(id, queue, reports_unasked, unhurried);
  }

  template <class Command>
  void submit(Queue& queue, Event* event, const Array<EventId>& wait_list, Command&& command,
              bool waits_for_all = false, bool blocks_later = false, EventId internal = 0) REQUIRES(session_lock);

  // The command cannot be executed; see EventTable::fail.
  void fail(Queue& queue, Event* event, std::int32_t status, TransferId transfer = 0) REQUIRES(session_lock);
  // The command has ended without a native command.
  void finish(Event& event) REQUIRES(session_lock) { events_.finish(event); }
  // A native command has the event `native`; `event` may be null.
  void accepted(Queue& queue, Event* event, Native<cl_event> native) REQUIRES(session_lock);
  // Makes an event of the graph for submit() that the client does not know; finish_hold() ends it.
  EventId begin_internal() REQUIRES(session_lock) { return events_.begin_internal(); }
  void finish_hold(EventId hold) REQUIRES(session_lock);

  // Flushes every native queue that got commands since the last call.
  void flush_queues() REQUIRES(session_lock);
  void touch(Queue& queue) REQUIRES(session_lock) {
    if (!queue.touched) add_touched(queue);
  }
  // Returns true if the session must wait before it submits more: its work for all devices is too far ahead, or
  // too much waits for its turn on one.
  bool is_full() const REQUIRES(session_lock) { return is_crowded() || is_far_ahead_; }
  // Returns true once if the session must wait for its DriverBacklog.
  bool take_far_ahead() REQUIRES(session_lock) { return std::exchange(is_far_ahead_, false); }
  // Returns true if the session must wait for a closed gate.
  bool is_crowded() const REQUIRES(session_lock) { return !gates_.all_open() && holds_.size() >= kHeldMax; }
  TurnGates& gates() REQUIRES(session_lock) { return gates_; }

  // The approximate size of events and waiting commands in tables.
  std::uint64_t table_size() const REQUIRES(session_lock);
  // A command cannot be held. Returns its error.
  cl_int refused(const HeldTooMuch& refusal) REQUIRES(session_lock);

  // The session ends: commands that wait will not run.
  void drop_all() REQUIRES(session_lock);

 private:
  static constexpr std::uint64_t kHeldSize = 512;  // of a waiting command, estimated
  // The most commands that wait while a gate is closed; enough for programs that now and then wait or send a query.
  static constexpr std::size_t kHeldMax = 256;

  void clear_collected() REQUIRES(session_lock) {
    native_waits_.clear();
    graph_waits_.clear();
    dependency_failed_ = false;
    waits_for_itself_ = false;
  }
  void collect(Queue& queue, const Array<EventId>& wait_list, std::vector<Ref<Event>>* kept) REQUIRES(session_lock);
  void collect_order(Queue& queue, bool waits_for_all) REQUIRES(session_lock) {
    if (queue.tail != 0) collect_tail(queue);
    if (waits_for_all && !queue.held.empty()) collect_held(queue);
  }
  void collect_tail(Queue& queue) REQUIRES(session_lock);
  void collect_held(Queue& queue) REQUIRES(session_lock);
  void depend(Queue& queue, Event& event) REQUIRES(session_lock);
  EventId make_hold(Queue& queue, Event* event, bool blocks_later) REQUIRES(session_lock);
  // Makes later commands of the queue wait for what the failed one waits for, because a transfer may still be
  // running.
  void keep_order(Queue& queue) REQUIRES(session_lock);
  void count_backlog(Queue& queue) REQUIRES(session_lock);
  void add_touched(Queue& queue) REQUIRES(session_lock);

  // The closed gate of the queue's turn; 0: none. A queue that the driver refused has no turn.
  EventId gate_of(const Queue& queue) REQUIRES(session_lock) {
    return gates_.all_open() || queue.native() == nullptr ? 0 : gates_.event_of(queue.turn());
  }
  // Whether a command waits for its session's turn on the device. Bulk data takes turns by itself, and answers give
  // the device nothing to do.
  template <class Command>
  static constexpr bool kTakesTurns = !std::remove_reference_t<Command>::kLong && !requires {
    std::remove_reference_t<Command>::kReplies;
  };

  template <class Command>
  static constexpr bool kNeedsDriver = !requires {
    std::remove_reference_t<Command>::kNeedsNoDriver;
  };

  template <class Command>
  void run(Queue& queue, Event* event, EventId hold, Command& command) REQUIRES(session_lock);
  template <class Command>
  static double cost_of(const Command& command) {
    if constexpr (requires { command.cost(); }) {
      return command.cost();
    } else {
      return 1;
    }
  }
  template <class Command>
  static std::uint64_t commands_of(const Command& command) {
    if constexpr (requires { command.commands_given(); }) {
      return command.commands_given();
    } else {
      return 1;
    }
  }
  template <class Command>
  static TransferId transfer_of(const Command& command) {
    if constexpr (requires { command.transfer; }) {
      return command.transfer;
    } else {
      return 0;
    }
  }
  template <class Command>
  void hold(Queue& queue, Event* event, const Array<EventId>& wait_list, Command command, bool blocks_later)
      REQUIRES(session_lock);
  // A command that was held, and what it needs then.
  template <class Command>
  struct Held {
    Ref<Queue> queue;
    Ref<Event> event;
    std::vector<Ref<Event>> waits;
    EventId hold;
    Command command;
    HeldMemory memory;
  };
  template <class Command>
  void run_held(const std::shared_ptr<Held<Command>>& held) REQUIRES(session_lock);
  template <class Command>
  void fail_command(Queue& queue, Event* event, Command& command, cl_int error) REQUIRES(session_lock) {
    if constexpr (requires { command.failed(error); }) command.failed(error);
    fail(queue, event, error, transfer_of(command));
  }

  EventTable& events_;
  QueueWatch& queue_watch_;
  const Ref<SessionCounters> counters_;
  // By the hold of a command: the progress of its queue.
  std::unordered_map<EventId, Ref<QueueProgress>> holds_ GUARDED_BY(session_lock);
  std::vector<Ref<Queue>> touched_ GUARDED_BY(session_lock);
  TurnGates gates_ GUARDED_BY(session_lock);
  bool is_far_ahead_ GUARDED_BY(session_lock) = false;
  bool has_refused_ GUARDED_BY(session_lock) = false;
  // The wait list of the command being submitted.
  std::vector<cl_event> native_waits_ GUARDED_BY(session_lock);
  std::vector<EventId> graph_waits_ GUARDED_BY(session_lock);
  bool dependency_failed_ GUARDED_BY(session_lock) = false;
  bool waits_for_itself_ GUARDED_BY(session_lock) = false;
};

template <class Command>
void Issuer::submit(Queue& queue, Event* event, const Array<EventId>& wait_list, Command&& command, bool waits_for_all,
                    bool blocks_later, EventId internal) {
  clear_collected();
  if (internal != 0) graph_waits_.push_back(internal);
  collect_order(queue, waits_for_all);
  if (wait_list.size() != 0) collect(queue, wait_list, nullptr);
  if (waits_for_itself_) [[unlikely]]
    return fail_command(queue, event, command, CL_INVALID_EVENT_WAIT_LIST);
  if constexpr (kTakesTurns<Command>) {
    if (const EventId gate = gate_of(queue); gate != 0) [[unlikely]]
      graph_waits_.push_back(gate);
  }
  if (graph_waits_.empty()) {
    run(queue, event, 0, command);
  } else {
    hold(queue, event, wait_list, std::forward<Command>(command), blocks_later);
  }
}

template <class Command>
void Issuer::hold(Queue& queue, Event* event, const Array<EventId>& wait_list, Command command, bool blocks_later) {
  if (event != nullptr && event->trace.number != 0) event->trace.received_ns = host_time_ns();
  // Waits are stored three times: here, in the graph, and in the graph's lists of what waits for each event.
  const std::uint64_t size =
      sizeof(Held<Command>) + kHeldSize + (3 * graph_waits_.size() + wait_list.size()) * sizeof(EventId);
  constexpr bool kMayFail = !requires { Command::kReplies; };
  HeldMemory memory(counters_, kMayFail ? HeldMemory::For::kCommand : HeldMemory::For::kSession);
  try {
    memory.resize(size);
    if constexpr (requires { command.keep(); }) command.keep();
  } catch (const HeldTooMuch& refusal) {
    if constexpr (!kMayFail) throw;
    return fail_command(queue, event, command, refused(refusal));
  }
  std::vector<EventId> dependencies = graph_waits_;
  auto held = std::make_shared<Held<Command>>(
      Held<Command>{Ref<Queue>(&queue), Ref<Event>(event), {}, EventId{0}, std::move(command), std::move(memory)});
  clear_collected();
  collect(queue, wait_list, &held->waits);
  held->hold = make_hold(queue, event, blocks_later);
  EventGraph::Action action = [this, held](std::int32_t) REQUIRES(session_lock) { run_held(held); };
  events_.graph().defer(dependencies, std::move(action));
}

template <class Command>
void Issuer::run_held(const std::shared_ptr<Held<Command>>& held) {
  if constexpr (kTakesTurns<Command>) {
    if (const EventId gate = gate_of(*held->queue); gate != 0) {
      events_.graph().defer({&gate, 1}, [this, held](std::int32_t) REQUIRES(session_lock) { run_held(held); });
      return;
    }
  }
  clear_collected();
  for (const auto& wait : held->waits) depend(*held->queue, *wait);
  run(*held->queue, held->event.get(), held->hold, held->command);
}

template <class Command>
void Issuer::run(Queue& queue, Event* event, EventId hold, Command& command) {
  using Type = std::remove_reference_t<Command>;
  if (event != nullptr && event->trace.number != 0) EventTable::submitted(*event, hold != 0);
  cl_int error = CL_SUCCESS;
  if (kNeedsDriver<Command> && queue.native() == nullptr) error = CL_INVALID_COMMAND_QUEUE;
  if (dependency_failed_) error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  if (error == CL_SUCCESS) {
    if (Type::kLong && hold == 0) hold = make_hold(queue, event, false);
    Issue issue{queue, event, native_waits_, hold};
    issue.goes_on = Type::kLong;
    const bool counts = !Type::kLong && kNeedsDriver<Command> && queue.turn().counts();
    const double cost = counts ? cost_of(command) : 0;
    issue.due = counts && queue.turn().is_due(cost);
    const auto run = [&]() REQUIRES(session_lock) { return command.issue(issue); };
    if constexpr (requires { Type::kRunsKernels; }) {
      error = issue.end_by_barrier(run);
    } else {
      error = run();
    }
    if (issue.first) event->first = std::move(issue.first);
    if (error == CL_SUCCESS) {
      if (issue.enqueued) {
        queue.count_native_command(issue.native);
        touch(queue);
        queue.uncounted += commands_of(command) * DriverBacklog::kCommandSize;
        if (queue.uncounted >= DriverBacklog::kCountedTogether) [[unlikely]]
          count_backlog(queue);
        if (counts && queue.turn().add(cost, issue.due ? issue.native.get() : nullptr)) [[unlikely]]
          gates_.close(queue.turn());
      }
      if (issue.goes_on) return;
      if (issue.ended && event != nullptr) finish(*event);
      if constexpr (!requires { Type::kHasBytesBefore; }) {
        if (event != nullptr) event->may_not_begin = !issue.waits.empty();
      }
      if (issue.native && event != nullptr) {
        event->position = queue.native_commands();
        events_.publish(*event, std::move(issue.native));
      }
    }
  }
  if (error != CL_SUCCESS) {
    keep_order(queue);
    fail_command(queue, event, command, error);
  }
  if (hold != 0) finish_hold(hold);
}

}  // namespace remotecl::server
