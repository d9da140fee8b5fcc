// Queues, events, and how commands are carried out.
#include <algorithm>
#include <chrono>
#include <utility>

#include "fakes/driver/objects.h"

namespace remotecl::fake {
namespace {

// On the thread of the caller, who holds the lock.
void run_here(cl_command_queue queue, cl_event until, Calls& calls) {
  while (!queue->commands.empty() && (until == nullptr || until->status > CL_COMPLETE)) {
    const Command command = std::move(queue->commands.front());
    queue->commands.pop_front();
    cl_int status = CL_COMPLETE;
    for (const auto& wait : command.waits) {
      if (wait->status > CL_COMPLETE && wait->queue != nullptr) run_here(wait->queue, wait.get(), calls);
      if (wait->status < 0) status = failed_wait_status();
    }
    if (status == CL_COMPLETE) status = command.work();
    --queue->unfinished;
    end(command.event, status, calls);
    // Drivers let go of a command's objects on a thread of theirs, too.
    calls.push_back([kept = std::make_shared<Command>(command)] {});
  }
}

}  // namespace

cl_ulong now() {
  static std::atomic<cl_ulong> time{1000};
  if (settings().is_threadless) return time += 10;
  const auto ahead = std::chrono::steady_clock::now().time_since_epoch() + settings().clock_ahead;
  return static_cast<cl_ulong>(std::chrono::nanoseconds(ahead).count());
}

void end(const Held<_cl_event>& event, cl_int status, Calls& calls) {
  event->status = status;
  event->times[3] = now();
  if (event->times[2] == 0) event->times[1] = event->times[2] = event->times[3];
  for (auto& callback : std::exchange(event->callbacks, {})) {
    calls.push_back([callback = std::move(callback), status] { callback(status); });
  }
}

std::deque<LateEvent>& late_events() {
  static auto& events = *new std::deque<LateEvent>;
  return events;
}

void end_late(const Held<_cl_event>& event, cl_int status, Calls& calls) {
  std::deque<LateEvent>& events = late_events();
  std::find_if(events.begin(), events.end(), [&](const LateEvent& late) {
    return late.event.get() == event.get();
  })->status = status;
  for (; !events.empty() && events.front().status; events.pop_front()) {
    end(events.front().event, *events.front().status, calls);
  }
}

void call_back(Calls& calls) {
  for (auto& call : calls) call();
  // What is let go of may be the last reference to an object, whose end needs the lock.
  const DriverLock lock(driver_mutex());
  calls.clear();
}

std::recursive_mutex& driver_mutex() {
  static std::recursive_mutex& mutex = *new std::recursive_mutex;
  return mutex;
}

cl_int enqueue(cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event,
               std::function<cl_int()> work, std::size_t items, bool has_late_event) {
  if ((count == 0) != (waits == nullptr)) return CL_INVALID_EVENT_WAIT_LIST;
  Command command{std::move(work), {}, {}, items, has_late_event && settings().has_late_events};
  for (cl_uint i = 0; i < count; ++i) {
    if (!is(waits[i], kEvent)) return CL_INVALID_EVENT_WAIT_LIST;
    if (waits[i]->context.get() != queue->context.get()) return CL_INVALID_CONTEXT;
    command.waits.emplace_back(waits[i]);
  }
  auto* made = new _cl_event(queue->context.get(), queue);
  made->is_profiled = (queue->properties & CL_QUEUE_PROFILING_ENABLE) != 0;
  made->times[0] = now();
  command.event = Held<_cl_event>(made);
  if (event != nullptr) {
    *event = made;
  } else {
    release(made);
  }
  if (command.has_late_event) late_events().push_back({command.event});
  queue->commands.push_back(std::move(command));
  ++queue->unfinished;
  return CL_SUCCESS;
}

void flush(cl_command_queue queue) {
  if (settings().is_threadless) return run(queue);
  const DriverLock lock(driver_mutex());
  start_thread(queue);
}

void run(cl_command_queue queue, cl_event until) {
  if (!settings().is_threadless) return wait_for(queue, until);
  Calls calls;
  {
    const DriverLock lock(driver_mutex());
    const Held<_cl_command_queue> kept(queue);
    run_here(queue, until, calls);
  }
  call_back(calls);
}

}  // namespace remotecl::fake

using namespace remotecl::fake;

_cl_event::_cl_event(cl_context context, cl_command_queue queue)
    : Object(kEvent), context(context), queue(retain(queue)) {}
_cl_event::~_cl_event() { release(queue); }

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device, cl_command_queue_properties properties,
                                      cl_int* error) {
  const DriverLock lock(driver_mutex());
  if (!is(context, kContext)) return failed<_cl_command_queue>(CL_INVALID_CONTEXT, error);
  if (device != context->device.get()) return failed<_cl_command_queue>(CL_INVALID_DEVICE, error);
  return made(new _cl_command_queue(context, properties), error);
}

cl_int clRetainCommandQueue(cl_command_queue queue) {
  const DriverLock lock(driver_mutex());
  retain(queue);
  return CL_SUCCESS;
}

// "clReleaseCommandQueue performs an implicit flush."
cl_int clReleaseCommandQueue(cl_command_queue queue) {
  flush(queue);
  while (settings().is_threadless) {
    run(queue);
    const DriverLock lock(driver_mutex());
    if (queue->commands.empty()) break;  // else a callback has added some
  }
  const DriverLock lock(driver_mutex());
  release(queue);
  return CL_SUCCESS;
}

cl_int clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info name, std::size_t size, void* value,
                             std::size_t* size_ret) {
  const DriverLock lock(driver_mutex());
  if (name != CL_QUEUE_PROPERTIES) return CL_INVALID_VALUE;
  return answer(queue->properties, size, value, size_ret);
}

cl_int clFlush(cl_command_queue queue) {
  flush(queue);
  return CL_SUCCESS;
}

cl_int clFinish(cl_command_queue queue) {
  run(queue);
  return CL_SUCCESS;
}

cl_int clWaitForEvents(cl_uint count, const cl_event* events) {
  cl_int error = CL_SUCCESS;
  for (cl_uint i = 0; i < count; ++i) {
    cl_command_queue queue = nullptr;
    {
      const DriverLock lock(driver_mutex());
      if (!is(events[i], kEvent)) return CL_INVALID_EVENT;
      if (events[i]->status > CL_COMPLETE) queue = retain(events[i]->queue);
    }
    if (queue != nullptr) {
      run(queue, events[i]);
      const DriverLock lock(driver_mutex());
      release(queue);
    }
    const DriverLock lock(driver_mutex());
    if (events[i]->status < 0) error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  }
  return error;
}

cl_event clCreateUserEvent(cl_context context, cl_int* error) {
  const DriverLock lock(driver_mutex());
  return made(new _cl_event(context, nullptr), error);
}

cl_int clSetUserEventStatus(cl_event event, cl_int status) {
  Calls calls;
  {
    const DriverLock lock(driver_mutex());
    if (event->status <= CL_COMPLETE) return CL_INVALID_OPERATION;
    end(Held<_cl_event>(event), status, calls);
    wake_threads();
  }
  call_back(calls);
  return CL_SUCCESS;
}

cl_int clRetainEvent(cl_event event) {
  const DriverLock lock(driver_mutex());
  if (!is(event, kEvent)) return CL_INVALID_EVENT;
  retain(event);
  return CL_SUCCESS;
}

cl_int clReleaseEvent(cl_event event) {
  const DriverLock lock(driver_mutex());
  if (!is(event, kEvent)) return CL_INVALID_EVENT;
  release(event);
  return CL_SUCCESS;
}

cl_int clGetEventInfo(cl_event event, cl_event_info name, std::size_t size, void* value, std::size_t* size_ret) {
  const DriverLock lock(driver_mutex());
  if (!is(event, kEvent)) return CL_INVALID_EVENT;
  switch (name) {
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
      return answer(event->status, size, value, size_ret);
    case CL_EVENT_COMMAND_QUEUE:
      return answer(event->queue, size, value, size_ret);
    case CL_EVENT_CONTEXT:
      return answer(event->context.get(), size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int clSetEventCallback(cl_event event, cl_int, void(CL_CALLBACK* function)(cl_event, cl_int, void*), void* data) {
  {
    const DriverLock lock(driver_mutex());
    if (!is(event, kEvent)) return CL_INVALID_EVENT;
    if (event->status > CL_COMPLETE) {
      event->callbacks.push_back([event, function, data](cl_int status) { function(event, status, data); });
      return CL_SUCCESS;
    }
  }
  const auto call = [event, function, data] { function(event, event->status, data); };
  const std::chrono::microseconds delay = callback_time();
  if (delay.count() == 0) {
    call();
  } else {
    std::thread([call, delay] { std::this_thread::sleep_for(delay), call(); }).detach();
  }
  return CL_SUCCESS;
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info name, std::size_t size, void* value,
                               std::size_t* size_ret) {
  const DriverLock lock(driver_mutex());
  if (!is(event, kEvent)) return CL_INVALID_EVENT;
  if (!event->is_profiled || event->status != CL_COMPLETE) return CL_PROFILING_INFO_NOT_AVAILABLE;
  if (name < CL_PROFILING_COMMAND_QUEUED || name > CL_PROFILING_COMMAND_END) return CL_INVALID_VALUE;
  return answer(event->times[name - CL_PROFILING_COMMAND_QUEUED], size, value, size_ret);
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
  const DriverLock lock(driver_mutex());
  return enqueue(
      queue, count, waits, event, [] { return CL_COMPLETE; }, 0, count == 0);
}

cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
  const DriverLock lock(driver_mutex());
  return enqueue(queue, count, waits, event, [] { return CL_COMPLETE; });
}
