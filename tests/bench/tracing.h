#pragma once

namespace remotecl::bench {

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
