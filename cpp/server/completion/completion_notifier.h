#pragma once

#include <functional>

#include "server/completion/cl.h"

namespace remotecl::server {

// Says when a native event has ended.
class CompletionNotifier {
 public:
  // Gets CL_COMPLETE or a negative error.
  using Function = std::function<void(cl_int status)>;

  // Calls `function` once, on a thread of the driver or before notify() returns. It must not block, take a
  // session's lock or enqueue commands. What has ended is told before what waited for it, among
  // events of the same `order`: a session's.
  static void notify(cl_event event, const void* order, Function function);
  // The same, but an event that has ended is told before this returns, which waits for threads that are telling of
  // older ones. For a client's question: it may have been told already of what waited for the event.
  static void notify_asked(cl_event event, const void* order, Function function);
  // The same in no order, for what other sessions may wait for: it does not wait until this one's threads have time.
  static void notify_apart(cl_event event, Function function);
};

}  // namespace remotecl::server
