#include "tracing.h"

#include "opencl_objects.h"
#include "own_functions.h"
#include "remotecl/remotecl.h"

namespace remotecl::bench {

cl_device_id automatic_device() {
  char* error = nullptr;
  const cl_device_id device = own_function<decltype(remotecl_auto)>("remotecl_auto")(nullptr, &error);
  const std::string text = error == nullptr ? "" : error;
  own_function<decltype(remotecl_free)>("remotecl_free")(error);
  if (device == nullptr) throw ClError("there is no automatic device: " + text);
  return device;
}

Tracing::Tracing() {
  if (own_function<decltype(remotecl_trace_start)>("remotecl_trace_start")(0, nullptr) != 0) {
    throw ClError("a trace is running already");
  }
}

Tracing::~Tracing() {
  own_function<decltype(remotecl_free)>("remotecl_free")(
      own_function<decltype(remotecl_trace_stop)>("remotecl_trace_stop")(10));
}

}  // namespace remotecl::bench
