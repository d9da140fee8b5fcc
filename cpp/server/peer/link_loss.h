#pragma once

#include <string>
#include <utility>

#include "runtime/base/mutex.h"

namespace remotecl::server {

// Whether a link is lost, and why. Owned by the link; any thread.
class LinkLoss {
 public:
  bool is_final() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return is_final_;
  }
  // Records why the link ends, unless an earlier reason is known.
  void add_reason(std::string reason) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (reason_.empty()) reason_ = std::move(reason);
  }
  // The link is lost from now on. Returns the reason: `reason` unless an earlier one is known.
  std::string finish(std::string reason) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    is_final_ = true;
    return reason_.empty() ? std::move(reason) : reason_;
  }

 private:
  mutable Mutex mutex_;
  bool is_final_ GUARDED_BY(mutex_) = false;
  std::string reason_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
