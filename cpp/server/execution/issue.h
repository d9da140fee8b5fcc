#pragma once

#include <span>

#include "runtime/graph/event_graph.h"
#include "server/execution/event.h"
#include "server/execution/queue.h"

namespace remotecl::server {

// What a command needs to know when it is handed to the native driver.
struct Issue {
  Queue& queue;
  Event* event;  // null: nobody asked for one
  std::span<const cl_event> waits;
  EventId hold = 0;  // the graph's event that ends when this returns; of a long command, when it has ended
  Native<cl_event> native{};
  Native<cl_event> first{};  // of several native commands the first one's, where its start is the command's
  bool enqueued = true;      // false: the driver got nothing after all
  bool goes_on = false;      // of a long command: it has not ended with issue()
  bool ended = false;        // carried out already, without the driver
  bool due = false;          // its end is to be known: DeviceTurn counts by it

  cl_uint wait_count() const { return static_cast<cl_uint>(waits.size()); }
  const cl_event* wait_list() const { return waits.empty() ? nullptr : waits.data(); }
  void ended_directly() {
    enqueued = goes_on = false;
    ended = true;
  }
  cl_event* out() { return event != nullptr || due || queue.wants_events() ? native.out() : nullptr; }
};

}  // namespace remotecl::server
