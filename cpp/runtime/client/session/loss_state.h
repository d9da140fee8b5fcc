#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/base/mutex.h"
#include "runtime/client/support/fork_guard.h"

namespace remotecl {

// Whether a session is lost, and why. Any thread.
class LossState {
 public:
  // Also true in a forked child, where a lock that another thread held at the fork is never released.
  bool lost() const { return lost_.load(std::memory_order_acquire) || in_forked_child(); }
  std::string reason() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return reason_;
  }
  // Returns true once all that the loss ends has ended, and the other servers know of it.
  bool settled() const { return settled_.load(std::memory_order_acquire); }
  void settle() { settled_.store(true, std::memory_order_release); }
  // From now on a loss is not reported.
  void expect() { is_expected_ = true; }
  bool is_expected() const { return is_expected_; }
  // How many sessions of the process were lost so far.
  static std::uint64_t count() { return count_.load(std::memory_order_acquire); }

  // Ends the connections by `shut_down`, then marks the session as lost, once. Returns false if it already
  // was. The connections are released only after a loss, so they still exist while `shut_down` runs.
  template <class ShutDown>
  bool lose(const std::string& reason, ShutDown&& shut_down) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (lost()) return false;
    reason_ = reason;
    shut_down();
    lost_.store(true, std::memory_order_release);
    count_.fetch_add(1, std::memory_order_release);
    return true;
  }

 private:
  inline static std::atomic<std::uint64_t> count_{0};
  std::atomic<bool> lost_{false};
  std::atomic<bool> settled_{false};
  std::atomic<bool> is_expected_{false};
  mutable Mutex mutex_;
  std::string reason_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
