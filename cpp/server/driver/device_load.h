#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
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

  // The commands of one session that were accepted and have not ended.
  struct OfSession {
    std::uint64_t session = 0;
    std::uint64_t depth = 0;
    bool is_running = false;  // whether the driver has any of them
  };
  struct Work {
    std::vector<OfSession> sessions;  // those that have commands
    std::uint64_t ended = 0;          // how many commands have ended until now, of all sessions
  };

  // A session's usage of the device.
  struct Usage {
    Clock::duration busy{};      // in which the driver was seen to have commands of it
    std::uint64_t commands = 0;  // that the driver was given
    std::uint64_t placed = 0;    // kernels that the client's scheduler has placed here
  };

  void add(const Ref<QueueProgress>& queue) EXCLUDES(mutex_);
  void remove(const Ref<QueueProgress>& queue) EXCLUDES(mutex_);

  bool has_queues() const { return queue_count_.load(std::memory_order_relaxed) > 0; }
  // Whether there is more than one queue. No lock.
  bool has_several_queues() const { return queue_count_.load(std::memory_order_relaxed) > 1; }
  // Commands that were accepted and have not ended, as far as the driver has reported.
  std::uint64_t depth() const EXCLUDES(mutex_);
  Work work() const EXCLUDES(mutex_);
  Usage usage(std::uint64_t session) const EXCLUDES(mutex_);
  // The last usage of a session that has ended.
  Usage take_usage(std::uint64_t session) EXCLUDES(mutex_);
  // Whether the driver has any of them.
  bool is_busy() const EXCLUDES(mutex_);

  // Counts the time since the last sample as busy or idle, depending on the device's state now.
  void look(Clock::time_point now) EXCLUDES(mutex_);
  // Sampling ends.
  void forget() EXCLUDES(mutex_);
  Busy busy() const EXCLUDES(mutex_);
  // Kernels that clients' schedulers have placed here, of all sessions.
  std::uint64_t placed() const EXCLUDES(mutex_);
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
  Usage usage_locked(std::uint64_t session) const REQUIRES(mutex_);
  void count_busy(Clock::time_point now, Clock::duration since) REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::vector<Ref<QueueProgress>> queues_ GUARDED_BY(mutex_);
  std::atomic<std::size_t> queue_count_{0};
  struct Past {
    Usage usage;  // without the commands and kernels of existing queues
    Clock::time_point seen{};
  };
  std::map<std::uint64_t, Past> past_ GUARDED_BY(mutex_);  // by session, of those that have had queues
  std::uint64_t past_ended_ GUARDED_BY(mutex_) = 0;        // commands of queues that are gone
  std::uint64_t past_placed_ GUARDED_BY(mutex_) = 0;       // kernels of these
  std::deque<Look> looks_ GUARDED_BY(mutex_);
  Clock::time_point last_ GUARDED_BY(mutex_){};
  Clock::duration busy_total_ GUARDED_BY(mutex_){};
};

}  // namespace remotecl::server
