#pragma once

#include <cstdint>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "server/quota/held_memory.h"

namespace remotecl::server {

// Estimates how much of this process's memory the driver uses for a session's running commands, including the copied
// data of small writes. A session that is too far ahead of its devices waits until enough of its commands have ended.
// Owned by the session and by its counted commands; any thread.
class DriverBacklog final : public RefCounted {
 public:
  static constexpr std::uint64_t kCommandSize = 512;           // an estimate
  static constexpr std::uint64_t kCountedTogether = 1u << 20;  // bytes

  explicit DriverBacklog(const Ref<SessionCounters>& counters)
      : size_max_(counters->quota().limits().host / 2), held_(counters, HeldMemory::For::kCommand) {}

  // Returns true if wait() must be called before more is added.
  bool add(std::uint64_t size) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    size_ += size;
    return !fits();
  }
  void remove(std::uint64_t size) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    size_ -= size;
    if (fits()) changed_.notify_all();
  }
  void wait() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (!fits()) changed_.wait(mutex_);
  }

 private:
  bool fits() REQUIRES(mutex_) { return size_ <= size_max_ && held_.try_follow(size_); }

  const std::uint64_t size_max_;  // the rest of the limit is for other things
  Mutex mutex_;
  ConditionVariable changed_;
  std::uint64_t size_ GUARDED_BY(mutex_) = 0;
  HeldMemory held_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
