#pragma once

#include <functional>

#include "server/cl.h"

namespace remotecl::server {

// Says when a native event has ended.
class CompletionNotifier {
 public:
  // Gets CL_COMPLETE or a negative error.
  using Function = std::function<void(cl_int status)>;

  // Calls `function` once, on a thread of the driver or before notify() returns. It must not block, take a
  // session's lock or enqueue commands.
  static void notify(cl_event event, Function function);
};

}  // namespace remotecl::server
