#include "tracing.h"

#include "opencl_objects.h"
#include "own_functions.h"
#include "remotecl/remotecl.h"

namespace remotecl::bench {

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
