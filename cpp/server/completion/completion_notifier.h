#pragma once

#include <functional>

#include "runtime/base/ref_counted.h"
#include "server/completion/cl.h"

namespace remotecl::server {

class EventWaiters;

// Says when a native event of one session has ended. Copies do it for the same session. Any thread.
class CompletionNotifier {
 public:
  // Gets CL_COMPLETE or a negative error.
  using Function = std::function<void(cl_int status)>;

  CompletionNotifier();
  CompletionNotifier(const CompletionNotifier&);
  CompletionNotifier(CompletionNotifier&&) noexcept;
  CompletionNotifier& operator=(const CompletionNotifier&) = delete;
  ~CompletionNotifier();

  // The context's driver calls back late.
  void expect_late(cl_context context) const;

  // Calls `function` once, on a thread of the driver or before notify() returns. It must not block, take a session's
  // lock or enqueue commands. What has ended is reported before what waited for it.
  void notify(cl_event event, Function function) const;
  // The same, but an event that has ended is reported before this returns, which waits for a thread that is reporting
  // older ones. For a client's question: it may have been told already of what waited for the event.
  void notify_asked(cl_event event, Function function) const;
  // The same in no order, for what other sessions may wait for: it does not wait until this one's threads have time.
  void notify_apart(cl_event event, Function function) const;

  // The session ends: threads that have nothing to wait for end, too.
  void stop() const;

 private:
  friend class EventPoller;

  Ref<EventWaiters> waiters_;
};

}  // namespace remotecl::server
