#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "runtime/base/mutex.h"
#include "runtime/base/process_watch.h"
#include "runtime/transport/stream/resumable_connection.h"

namespace remotecl::server {

// How a session's streams survive the loss of a connection: how long to wait for the client, and whether it
// can come back at all. Any thread.
class StreamRecovery {
 public:
  explicit StreamRecovery(std::uint64_t session) : session_(session) {}

  // How long to wait for the other end to replace a lost connection.
  std::chrono::milliseconds window() const { return window_; }
  // Sets what the client asks for, within bounds.
  void set_window(std::chrono::milliseconds wanted);
  // Watches a client that is a process of this machine: once it has ended, waiting for it is hopeless.
  void watch(std::uint64_t process) EXCLUDES(mutex_);

  // The hooks of a stream that a new connection can resume. `name` appears in the log. `acknowledge` reports
  // to the client how much has arrived.
  ResumableConnection::Hooks hooks(const char* name, std::function<void(std::uint64_t)> acknowledge);

 private:
  const std::uint64_t session_;
  std::atomic<std::chrono::milliseconds> window_{std::chrono::seconds(30)};
  Mutex mutex_;
  ProcessWatch client_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
