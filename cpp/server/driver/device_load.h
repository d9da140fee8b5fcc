#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/base/mutex.h"
#include "server/driver/queue_progress.h"

namespace remotecl::server {

// How much work a device has: the queued commands of all sessions, and for what part of the last second the
// driver was busy. It samples the queues, only while somebody asks (LoadSampler), so threads that enqueue pay
// nothing. Owned by the device; any thread.
class DeviceLoad {
 public:
  using Clock = std::chrono::steady_clock;
  struct Busy {
    std::uint32_t permille = 0;
    std::uint32_t observed_ms = 0;  // at most a second; 0 if not observed
  };

  void add(const Ref<QueueProgress>& queue) EXCLUDES(mutex_);
  void remove(const Ref<QueueProgress>& queue) EXCLUDES(mutex_);

  // Commands that were accepted and have not ended, as far as the driver has reported.
  std::uint64_t depth() const EXCLUDES(mutex_);
  // Whether the driver has any of them.
  bool is_busy() const EXCLUDES(mutex_);

  // Counts the time since the last sample as busy or idle, depending on the device's state now.
  void look(Clock::time_point now) EXCLUDES(mutex_);
  // Sampling ends.
  void forget() EXCLUDES(mutex_);
  Busy busy() const EXCLUDES(mutex_);
  // The total time that it was seen busy.
  Clock::duration busy_total() const EXCLUDES(mutex_);

 private:
  static constexpr Clock::duration kWindow = std::chrono::seconds(1);

  struct Look {
    Clock::time_point at;
    Clock::duration since;
    bool busy;
  };

  bool is_busy_locked() const REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::vector<Ref<QueueProgress>> queues_ GUARDED_BY(mutex_);
  std::deque<Look> looks_ GUARDED_BY(mutex_);
  Clock::time_point last_ GUARDED_BY(mutex_){};
  Clock::duration busy_total_ GUARDED_BY(mutex_){};
};

}  // namespace remotecl::server
