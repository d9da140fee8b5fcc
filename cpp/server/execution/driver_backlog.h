#pragma once

#include <cstdint>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "server/quota/held_memory.h"

namespace remotecl::server {

// What the driver keeps in this process of a session's commands that have not ended, about. A session that is so far
// ahead of its devices waits; its commands end by themselves. Owned by the session and by what counts in it; any
// thread.
class DriverBacklog final : public RefCounted {
 public:
  static constexpr std::uint64_t kCommandSize = 512;  // about
  static constexpr std::uint64_t kCountedTogether = 2048;

  explicit DriverBacklog(const Ref<SessionCounters>& counters)
      : size_max_(counters->quota().limits().host / 2), held_(counters, HeldMemory::For::kCommand) {}

  // True: wait() has to come before more.
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

  const std::uint64_t size_max_;  // the rest is for other things
  Mutex mutex_;
  ConditionVariable changed_;
  std::uint64_t size_ GUARDED_BY(mutex_) = 0;
  HeldMemory held_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
