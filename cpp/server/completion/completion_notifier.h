#pragma once

#include <cstdint>
#include <exception>
#include <functional>

#include "runtime/base/ref_counted.h"
#include "server/completion/cl.h"

namespace remotecl::server {

class EventWaiters;

// Reports when a native event of one session has ended. Copies belong to the same session. Any thread.
class CompletionNotifier {
 public:
  // Gets CL_COMPLETE or a negative error.
  using Function = std::function<void(cl_int status)>;
  // The position of an event's command: higher than those of the commands before it in the same queue.
  using Position = std::uint64_t;
  static constexpr Position kLast = ~Position{0};  // that of the session's last command so far

  // Gets the exceptions of functions, and of what calls them, on their threads. It must not throw. Whoever notifies
  // keeps what it uses until the function has been called.
  using Failed = std::function<void(const std::exception&)>;

  CompletionNotifier() : CompletionNotifier(Failed()) {}
  explicit CompletionNotifier(Failed failed);
  CompletionNotifier(const CompletionNotifier&);
  CompletionNotifier(CompletionNotifier&&) noexcept;
  CompletionNotifier& operator=(const CompletionNotifier&) = delete;
  ~CompletionNotifier();

  // The driver of this context calls back late.
  void expect_late(cl_context context) const;

  // Announces a command with this position. One thread at a time.
  void comes(Position position) const;
  // Calls `function` once, on a thread of the driver or before notify() returns. It must not block, take a
  // session's lock or enqueue commands. An event's end is reported before the ends of those that waited for
  // it.
  void notify(cl_event event, Function function, Position position = kLast) const;
  // The same, but if the event has ended, this reports it before returning, even if it must wait for a thread
  // that is reporting older ends. For a client's request, because the client may already know that a
  // command that waited for the event has ended.
  void notify_asked(cl_event event, Function function, Position position = kLast) const;
  // The same in no order, without waiting for the session's own threads. For ends that other sessions may
  // wait for.
  void notify_apart(cl_event event, Function function) const;

  // The session ends, and so do threads that have nothing to wait for.
  void stop() const;

 private:
  friend class EventPoller;

  Ref<EventWaiters> waiters_;
};

}  // namespace remotecl::server
