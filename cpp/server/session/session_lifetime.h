#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "runtime/base/mutex.h"

namespace remotecl::server {

// When a session began, when it was over, and why this side ended it. Owned by the session; any thread.
class SessionLifetime {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Time begun() const { return begun_; }
  // Since when the session has been over and only frees what it has; empty while it is not over.
  std::optional<Time> over_since() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return over_since_;
  }
  // Why this side ended the session, as text for the client; empty if it did not.
  std::string end_reason() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return end_reason_;
  }

  // Only the first call counts. `reason`: empty if this side does not end it.
  void end(const std::string& reason) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (over_since_) return;
    over_since_ = std::chrono::steady_clock::now();
    end_reason_ = reason;
  }

 private:
  const Time begun_ = std::chrono::steady_clock::now();
  mutable Mutex mutex_;
  std::optional<Time> over_since_ GUARDED_BY(mutex_);
  std::string end_reason_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
