#pragma once

#include <vector>

#include "icd/boundary.h"
#include "runtime/client/commands/coherent_host_memory.h"
#include "runtime/client/commands/commands.h"

namespace remotecl::icd {

// The wait list and the returned event of an enqueue, checked.
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
  // Where the engine puts the event: null when nobody asked for one.
  Event** event() { return out_ == nullptr ? nullptr : &event_; }
  // Hands the event to the application when the command was accepted.
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

// For a command that is enqueued as another one, which does not block by itself: `enqueue` takes an Event**.
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

// For a write. A blocking one returns when the application's memory is the application's again, so that it costs no
// round trip; but where a user event may hold the command back, it ends first. Then waiting for its event can never be
// waiting for another thread of the program: PyOpenCL does that with Python's lock held. It ends, too, where it tells
// the application that all commands before it have.
template <class Enqueue>
cl_int maybe_blocking_write(CommandQueue& queue, bool blocking, Dependencies& dependencies, Enqueue&& enqueue) {
  const bool ends = queue.context().has_open_user_events() || CoherentHostMemory::any();
  if (blocking && ends) return maybe_blocking(true, dependencies, enqueue);
  const cl_int code = enqueue(dependencies.event());
  if (code == CL_SUCCESS && blocking && dependencies.event() != nullptr && !(*dependencies.event())->ended())
    WaitLimit::note(WaitLimit::kUnended);
  return dependencies.finish(code);
}

}  // namespace remotecl::icd
