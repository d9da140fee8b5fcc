#pragma once

#include "server/completion/cl.h"

namespace remotecl::server {

// A property of a native event; zero if the driver does not provide it.
template <class T>
T event_value(cl_event event, cl_event_info name) {
  T value{};
  clGetEventInfo(event, name, sizeof value, &value, nullptr);
  return value;
}

// Returns the state of a native command: CL_QUEUED to CL_COMPLETE, or the error that it ended with.
inline cl_int execution_status(cl_event event) {
  cl_int status = CL_COMPLETE;
  const cl_int error = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  return error == CL_SUCCESS ? status : error;
}

// Returns true if it has succeeded.
inline bool has_completed(cl_event event) { return execution_status(event) == CL_COMPLETE; }

}  // namespace remotecl::server
