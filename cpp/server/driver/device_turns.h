#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "runtime/sharing/fair_share.h"
#include "server/completion/completion_notifier.h"

namespace remotecl::server {

class DeviceTurn;

// Decides which session may give a device more work when several use it, and whether one has the device to
// itself. Adds a clock and the waiting threads to FairShare. Owned by the device and the sessions; any
// thread.
class DeviceTurns final : public RefCounted {
 public:
  // Whether several sessions have queues on the device.
  bool is_shared() const { return shared_.load(std::memory_order_relaxed); }

  // Gives the session the device to itself until unclaim(). Returns false if other sessions have queues on it
  // or have claimed it.
  bool claim(std::uint64_t session) EXCLUDES(mutex_);
  void unclaim(std::uint64_t session) EXCLUDES(mutex_);
  // Whether another session has claimed it.
  bool is_taken_from(std::uint64_t session) const EXCLUDES(mutex_);
  // Adds the session; returns null if another one has claimed the device. `commands_max`: the most commands
  // that it may have there. `is_timed`: each of its commands gets an event, so that its end is known.
  Ref<DeviceTurn> join(std::uint64_t session, double weight, std::optional<std::uint64_t> commands_max,
                       CompletionNotifier completions, bool is_timed = false) EXCLUDES(mutex_);

  using Clock = std::chrono::steady_clock;

  // The session that has made no progress for longest while the device has its commands, and since when, without the
  // time in which it may have waited for another one's. Others wait for this session. Only counted commands are
  // considered.
  struct Longest {
    std::uint64_t session;
    Clock::time_point since;
  };
  std::optional<Longest> longest() const EXCLUDES(mutex_);

 private:
  friend class DeviceTurn;

  // Gives turns to those who wait. Returns what they want to be called, without the lock.
  std::vector<std::function<void()>> grant_ready() REQUIRES(mutex_);
  // Commands of this turn have ended, the first of which was given to the driver then. Whoever had others there by that
  // time, or later, may have waited for them.
  void have_waited_for(const DeviceTurn& ended, Clock::time_point given, Clock::time_point now) REQUIRES(mutex_);

  std::atomic<bool> shared_{false};
  mutable Mutex mutex_;
  FairShare share_ GUARDED_BY(mutex_);
  std::map<FairShare::Member, DeviceTurn*> members_ GUARDED_BY(mutex_);
  std::uint64_t owner_ GUARDED_BY(mutex_) = 0;  // the session that has claimed it; 0 if none
};

// A session's share in a device, and the work that it has there. Owned by the session and its queues.
//
// Counting each command would cost more than many commands take, so several are counted together, with the
// event of the last one. That is exact for a queue in order and close enough for others.
class DeviceTurn final : public RefCounted {
 public:
  ~DeviceTurn() override { leave(); }

  std::uint64_t session() const { return session_; }

  // Whether its work is counted. It need not be while the session is alone on the device. Any thread.
  bool counts() const { return turns_->is_shared() || commands_max_ != 0 || is_timed_; }

  // Whether a command of this cost, which the driver is given next, needs an event, to be counted together with those
  // before it. Needs the session's lock.
  bool is_due(double cost) {
    if (uncounted_ == 0) given_ = Clock::now();
    return is_timed_ || uncounted_ + cost >= batch_.load(std::memory_order_relaxed);
  }
  // The driver has been given that command, with `event` if it was due. Returns true if when_granted() or
  // wait() must come before the next command.
  bool add(double cost, cl_event event) EXCLUDES(turns_->mutex_);

  // Counts a piece of bulk data. Called by threads that may wait.
  void add_bytes(std::uint64_t size, cl_event event) EXCLUDES(turns_->mutex_);
  // Returns when the session may give the device more work.
  void wait() EXCLUDES(turns_->mutex_) { wait_until(Clock::time_point::max()); }
  // The same for a while; returns false if that was not enough.
  bool wait_for(std::chrono::milliseconds time) EXCLUDES(turns_->mutex_) { return wait_until(Clock::now() + time); }
  // The session is over, and its threads wait no more, although it has commands there.
  void end_waits() EXCLUDES(turns_->mutex_);
  // Calls `function` then, on any thread; it must not block. Returns false and calls nothing if the session may
  // give more work now.
  bool when_granted(std::function<void()> function) EXCLUDES(turns_->mutex_);

  // Returns true if the session may give more work now. What when_granted() got is then dropped.
  bool ask() EXCLUDES(turns_->mutex_);

  // The session ends.
  void leave() EXCLUDES(turns_->mutex_);

  static double cost_of_bytes(std::uint64_t size) { return 1 + static_cast<double>(size) / kBytesPerUnit; }

 private:
  friend class DeviceTurns;
  using Clock = DeviceTurns::Clock;

  // Commands that are counted together. The driver got the first of them after `given` and the last of them before
  // `noted`; which of two sessions' commands it got first shows only where these times do not overlap.
  struct Batch {
    Clock::time_point given, noted;
    double cost;
  };

  DeviceTurn(Ref<DeviceTurns> turns, CompletionNotifier completions, std::uint64_t session, FairShare::Member member,
             std::uint64_t commands_max, bool is_timed)
      : turns_(std::move(turns)),
        completions_(std::move(completions)),
        session_(session),
        member_(member),
        commands_max_(commands_max),
        is_timed_(is_timed) {}

  static constexpr double kBytesPerUnit = 64 << 10;
  static constexpr double kBatchMax = 8;

  void grant(std::vector<std::function<void()>>& functions) REQUIRES(turns_->mutex_);
  bool began(double cost, cl_event event, Clock::time_point given) EXCLUDES(turns_->mutex_);
  bool wait_until(Clock::time_point end) EXCLUDES(turns_->mutex_);
  void ended(const Batch& batch) EXCLUDES(turns_->mutex_);

  const Ref<DeviceTurns> turns_;
  const CompletionNotifier completions_;  // of the session
  const std::uint64_t session_;
  const FairShare::Member member_;
  const std::uint64_t commands_max_;  // 0: no limit
  const bool is_timed_;
  // Batches that have not ended: when they were noted, and given.
  std::multimap<Clock::time_point, Clock::time_point> under_way_ GUARDED_BY(turns_->mutex_);
  // When the first of them began, or one ended, or one of another session's that they may have waited for.
  Clock::time_point progress_ GUARDED_BY(turns_->mutex_){};
  bool left_ GUARDED_BY(turns_->mutex_) = false;
  bool is_over_ GUARDED_BY(turns_->mutex_) = false;
  std::uint64_t granted_ GUARDED_BY(turns_->mutex_) = 0;  // how many times
  std::vector<std::function<void()>> at_grant_ GUARDED_BY(turns_->mutex_);
  ConditionVariable wake_;
  double uncounted_ = 0;           // needs the session's lock
  Clock::time_point given_{};      // the first of the uncounted commands; needs the session's lock
  std::atomic<double> batch_ = 1;  // the cost at which a batch is counted
};

}  // namespace remotecl::server
