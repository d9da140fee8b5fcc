#pragma once

#include <vector>

#include "icd/boundary.h"
#include "runtime/client/commands/coherent_host_memory.h"
#include "runtime/client/commands/commands.h"

namespace remotecl::icd {

// The checked wait list and the returned event of an enqueue.
class Dependencies {
 public:
  Dependencies(Context& context, cl_uint count, const cl_event* list, cl_event* out) : context_(context), out_(out) {
    // "CL_INVALID_EVENT_WAIT_LIST if event_wait_list is NULL and num_events_in_wait_list > 0, or event_wait_list is not
    // NULL and num_events_in_wait_list is 0, or if event objects in event_wait_list are not valid events."
    require((list == nullptr) == (count == 0), CL_INVALID_EVENT_WAIT_LIST);
    for (cl_uint i = 0; i < count; ++i) {
      Event* event = from_handle<Event>(list[i]);
      require(event != nullptr, CL_INVALID_EVENT_WAIT_LIST);
      // "CL_INVALID_CONTEXT if the context associated with command_queue and events in event_wait_list are not the
      // same."
      require(&event->context() == &context, CL_INVALID_CONTEXT);
      events_.push_back(event);
    }
  }

  WaitList wait() const { return events_; }
  // Where the engine puts the event; null if the application wants none.
  Event** event() { return out_ == nullptr ? nullptr : &event_; }
  // Passes the event to the application if the command was accepted.
  cl_int finish(cl_int code) {
    if (code == CL_SUCCESS && out_ != nullptr) *out_ = event_->handle();
    if (blocks_) CoherentHostMemory::bring_back(context_);
    return code;
  }
  // "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST if the read and write operations are blocking and the execution
  // status of any of the events in event_wait_list is a negative integer value."
  void require_no_failure(bool blocking) {
    if (!blocking) return;
    blocks_ = true;
    for (Event* event : events_) require(event->status() >= 0, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  }

 private:
  Context& context_;
  std::vector<Event*> events_;
  cl_event* const out_;
  Event* event_ = nullptr;
  bool blocks_ = false;
};

// For a command that is enqueued as another one, which does not block itself. `enqueue` takes an Event**.
template <class Enqueue>
cl_int maybe_blocking(bool blocking, Dependencies& dependencies, Enqueue&& enqueue) {
  Event* done = nullptr;
  const cl_int code = enqueue(&done);
  if (code != CL_SUCCESS) return code;
  Ref<Event> own = Ref<Event>::adopt(done);
  if (blocking) {
    own->wait_in_call(dependencies.event());
    if (own->status() < 0) return own->status();
  }
  if (dependencies.event() != nullptr) *dependencies.event() = own.detach();
  return dependencies.finish(CL_SUCCESS);
}

// For a write. A blocking write returns as soon as the application may reuse its memory, which costs no round trip.
// What the application may conclude from its return still holds: commands of other queues come after the write
// (ReturnedWrites). It waits for the end
//  - if the application could see that the write or an earlier command has not ended: bytes for this process, bytes of
//    an earlier write in the application's memory or host work are outstanding, host pointers are coherent, there is a
//    wait list, or later commands of the queue are not in order;
//  - if a user event may delay it: otherwise a later wait for its event could depend on another thread of the program,
//    and PyOpenCL waits with Python's lock held.
template <class Enqueue>
cl_int maybe_blocking_write(CommandQueue& queue, bool blocking, Dependencies& dependencies, Enqueue&& enqueue) {
  if (!blocking) return dependencies.finish(enqueue(dependencies.event()));
  Context& context = queue.context();
  if (!dependencies.wait().empty() || !queue.in_order() || queue.owes_host() || context.has_open_user_events() ||
      CoherentHostMemory::any()) {
    return maybe_blocking(true, dependencies, enqueue);
  }
  const bool is_wanted = dependencies.event() != nullptr;
  // Without an event, nothing tells which member has the write.
  if (queue.placement() != nullptr && !is_wanted) return maybe_blocking(true, dependencies, enqueue);
  const cl_int code = enqueue(dependencies.event());
  if (code != CL_SUCCESS) return code;
  Event* const event = is_wanted ? *dependencies.event() : nullptr;
  context.returned_writes().returned(event != nullptr ? *event->queue() : queue);
  if (event != nullptr && !event->ended()) WaitLimit::note(WaitLimit::kUnended);
  return dependencies.finish(code);
}

}  // namespace remotecl::icd
