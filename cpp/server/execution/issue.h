#pragma once

#include <span>
#include <utility>

#include "runtime/graph/event_graph.h"
#include "server/completion/event_arguments.h"
#include "server/execution/event.h"
#include "server/execution/queue.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// The context in which a command is passed to the native driver.
struct Issue {
  Queue& queue;
  Event* event;  // null: the command has none
  std::span<const cl_event> waits;
  EventId hold = 0;  // the graph's event that ends when issue() returns or, for a long command, when that has ended
  Native<cl_event> native{};
  Native<cl_event> first{};  // the first of several native events, if the command starts with it
  bool enqueued = true;      // false: nothing was passed to the driver after all
  bool goes_on = false;      // a long command that has not ended when issue() returns
  bool ended = false;        // already executed, without the driver
  bool due = false;          // its end must become known, because DeviceTurn counts it
  bool needs_event = false;  // likewise, because the command itself waits for it
  bool by_barrier = false;   // see end_by_barrier()

  cl_uint wait_count() const { return static_cast<cl_uint>(waits.size()); }
  const cl_event* wait_list() const { return waits.empty() ? nullptr : waits.data(); }
  void ended_directly() {
    enqueued = goes_on = false;
    ended = true;
  }
  EventArguments arguments() { return {wait_count(), wait_list(), out()}; }
  bool wants_event() const { return event != nullptr || due || needs_event || queue.wants_events(); }
  cl_event* out() { return wants_event() && !by_barrier ? native.out() : nullptr; }
  // Calls `command`, which runs kernels. Where these would end too late for the driver, takes the event of a barrier
  // behind them.
  template <class Command>
  cl_int end_by_barrier(const Command& command) REQUIRES(session_lock) {
    by_barrier = queue.ends_by_barriers();
    const cl_int error = command();
    if (!std::exchange(by_barrier, false) || error != CL_SUCCESS || native || !wants_event()) return error;
    return clEnqueueBarrierWithWaitList(queue.native(), 0, nullptr, native.out());
  }
};

}  // namespace remotecl::server
