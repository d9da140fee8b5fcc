#pragma once

#include <deque>
#include <memory>

#include "extras/kernel_sockets/space/inbox.h"
#include "extras/kernel_sockets/space/waking_endpoint.h"
#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"

namespace remotecl::server {

// A kernel's listening socket with an rcl: name, and the connections that it has yet to accept. Shared by its proxy and
// the session's KernelNames; any thread.
class PipeListener final : public RefCounted {
 public:
  PipeListener(Ref<Inbox> inbox, std::uint64_t socket, std::size_t backlog)
      : inbox_(std::move(inbox)), socket_(socket), backlog_(backlog) {}

  // A connection's accepting end. Returns false if it is closed or the backlog is full.
  bool offer(std::unique_ptr<WakingEndpoint> end) EXCLUDES(mutex_);
  // Null if there is none.
  std::unique_ptr<WakingEndpoint> take() EXCLUDES(mutex_);
  bool has_some() const EXCLUDES(mutex_);
  // Those that connected and were not accepted see the end of their stream.
  void close() EXCLUDES(mutex_);

 private:
  const Ref<Inbox> inbox_;
  const std::uint64_t socket_;
  const std::size_t backlog_;
  mutable Mutex mutex_;
  std::deque<std::unique_ptr<WakingEndpoint>> waiting_ GUARDED_BY(mutex_);
  bool is_closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace remotecl::server
