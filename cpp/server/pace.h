#pragma once

#include <memory>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "runtime/sharing/token_bucket.h"
#include "runtime/transport/connection.h"

namespace remotecl::server {

// How fast bytes may go, on all connections that share it: a session's, or a user's. Any thread.
class Pace final : public RefCounted {
 public:
  explicit Pace(std::uint64_t bytes_per_second) : bucket_(bytes_per_second) {}

  void take(std::uint64_t bytes) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    bucket_.take(bytes, std::chrono::steady_clock::now());
  }
  TokenBucket::Duration debt() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return bucket_.debt(std::chrono::steady_clock::now());
  }

 private:
  Mutex mutex_;
  TokenBucket bucket_ GUARDED_BY(mutex_);
};

// The connection, no faster than all of these; as it is where there are none. Only the thread that reads or writes is
// held up. What may not wait (try_write) goes, and is paid for by what comes after it.
std::unique_ptr<Connection> pace(std::unique_ptr<Connection> connection, std::vector<Ref<Pace>> paces);

}  // namespace remotecl::server
