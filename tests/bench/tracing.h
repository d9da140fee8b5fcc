#pragma once

#include <CL/cl.h>

namespace remotecl::bench {

// The automatic device over all servers. Throws ClError, as below.
cl_device_id automatic_device();

// A trace of this process's commands while it lives. Throws ClError when the library that the loader has loaded is none
// of ours, or a trace is running.
class Tracing {
 public:
  Tracing();
  ~Tracing();
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;
};

}  // namespace remotecl::bench
