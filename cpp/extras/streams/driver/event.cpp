// Events: queries, and user events, which a program ends itself.
#include "extras/streams/driver/command.h"

using namespace remotecl;
using namespace remotecl::plugins;

cl_int clWaitForEvents(cl_uint count, const cl_event* events) {
  cl_int error = CL_SUCCESS;
  for (cl_uint i = 0; i < count; ++i) {
    if (events[i] == nullptr) return CL_INVALID_EVENT;
    wait_for(events[i]);
    MutexLock lock(state_mutex);
    if (events[i]->status < 0) error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  }
  return error;
}

cl_event clCreateUserEvent(cl_context context, cl_int* error) {
  if (context == nullptr) return failed<_cl_event>(CL_INVALID_CONTEXT, error);
  auto* event = new _cl_event(context, nullptr, CL_COMMAND_USER);
  {
    MutexLock lock(state_mutex);
    event->status = CL_SUBMITTED;
  }
  return made(event, error);
}

cl_int clSetUserEventStatus(cl_event event, cl_int status) {
  {
    MutexLock lock(state_mutex);
    if (event->status <= CL_COMPLETE) return CL_INVALID_OPERATION;
  }
  end_event(Held<_cl_event>(event), status);
  return CL_SUCCESS;
}

cl_int clRetainEvent(cl_event event) {
  if (event == nullptr) return CL_INVALID_EVENT;
  retain(event);
  return CL_SUCCESS;
}

cl_int clReleaseEvent(cl_event event) {
  if (event == nullptr) return CL_INVALID_EVENT;
  release(event);
  return CL_SUCCESS;
}

cl_int clGetEventInfo(cl_event event, cl_event_info name, std::size_t size, void* value, std::size_t* size_ret) {
  if (event == nullptr) return CL_INVALID_EVENT;
  switch (name) {
    case CL_EVENT_COMMAND_EXECUTION_STATUS: {
      MutexLock lock(state_mutex);
      return answer(event->status, size, value, size_ret);
    }
    case CL_EVENT_COMMAND_QUEUE:
      return answer(event->queue.get(), size, value, size_ret);
    case CL_EVENT_CONTEXT:
      return answer(event->context.get(), size, value, size_ret);
    case CL_EVENT_COMMAND_TYPE:
      return answer(event->type, size, value, size_ret);
    case CL_EVENT_REFERENCE_COUNT:
      return answer(static_cast<cl_uint>(event->references.load()), size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int clSetEventCallback(cl_event event, cl_int at, void(CL_CALLBACK* function)(cl_event, cl_int, void*), void* data) {
  cl_int status = CL_COMPLETE;
  {
    MutexLock lock(state_mutex);
    status = event->status;
    if (status > at) {
      event->callbacks.push_back({at, [event, function, data](cl_int now) { function(event, now, data); }});
      return CL_SUCCESS;
    }
  }
  function(event, status, data);
  return CL_SUCCESS;
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info name, std::size_t size, void* value,
                               std::size_t* size_ret) {
  const bool is_profiled = event->queue && (event->queue->properties & CL_QUEUE_PROFILING_ENABLE) != 0;
  MutexLock lock(state_mutex);
  if (!is_profiled || event->status != CL_COMPLETE) return CL_PROFILING_INFO_NOT_AVAILABLE;
  if (name == CL_PROFILING_COMMAND_COMPLETE) return answer(event->times[3], size, value, size_ret);
  if (name < CL_PROFILING_COMMAND_QUEUED || name > CL_PROFILING_COMMAND_END) return CL_INVALID_VALUE;
  return answer(event->times[name - CL_PROFILING_COMMAND_QUEUED], size, value, size_ret);
}
