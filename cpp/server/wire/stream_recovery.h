#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "runtime/base/mutex.h"
#include "runtime/base/process_watch.h"
#include "runtime/transport/stream/resumable_connection.h"

namespace remotecl::server {

// How a session's streams survive the loss of a connection: how long the client is waited for, and whether it can come
// back at all. Any thread.
class StreamRecovery {
 public:
  explicit StreamRecovery(std::uint64_t session) : session_(session) {}

  // How long the other end of a lost connection is waited for.
  std::chrono::milliseconds window() const { return window_; }
  // As the client wants it, within bounds.
  void set_window(std::chrono::milliseconds wanted);
  // The client is a process of this machine: when that has ended, nobody comes back.
  void watch(std::uint64_t process) EXCLUDES(mutex_);

  // Of a stream that another connection may carry on. `name`: for people. `acknowledge` tells the client what has come.
  ResumableConnection::Hooks hooks(const char* name, std::function<void(std::uint64_t)> acknowledge);

 private:
  const std::uint64_t session_;
  std::atomic<std::chrono::milliseconds> window_{std::chrono::seconds(30)};
  Mutex mutex_;
  ProcessWatch client_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
