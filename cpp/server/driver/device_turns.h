#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "runtime/sharing/fair_share.h"
#include "server/completion/cl.h"

namespace remotecl::server {

class DeviceTurn;

// Whose turn it is to give a device more work, when several sessions use it: FairShare with a clock, and with those who
// wait; and whether one of them has the device alone. Owned by the device and by those sessions; any thread.
class DeviceTurns final : public RefCounted {
 public:
  // Several sessions have queues on the device.
  bool is_shared() const { return shared_.load(std::memory_order_relaxed); }

  // The session has the device alone from now on, until unclaim(). False when others have queues on it, or have it.
  bool claim(std::uint64_t session) EXCLUDES(mutex_);
  void unclaim(std::uint64_t session) EXCLUDES(mutex_);
  // Whether another session has it alone.
  bool is_taken_from(std::uint64_t session) const EXCLUDES(mutex_);
  // A place for the session; null when another one has the device alone. `commands_max`: the most that it may have
  // there.
  // `is_timed`: the end of each of its commands is to be known.
  Ref<DeviceTurn> join(std::uint64_t session, double weight, std::optional<std::uint64_t> commands_max,
                       bool is_timed = false) EXCLUDES(mutex_);

  // Whose command the device has had for longest while nothing else of theirs has ended, as far as that is counted, and
  // since when: what others wait for there.
  struct Longest {
    std::uint64_t session;
    std::chrono::steady_clock::time_point since;
  };
  std::optional<Longest> longest() const EXCLUDES(mutex_);

 private:
  friend class DeviceTurn;

  void let_go() REQUIRES(mutex_);

  std::atomic<bool> shared_{false};
  mutable Mutex mutex_;
  FairShare share_ GUARDED_BY(mutex_);
  std::map<FairShare::Member, DeviceTurn*> members_ GUARDED_BY(mutex_);
  std::uint64_t owner_ GUARDED_BY(mutex_) = 0;  // the session that has it alone; 0: none
};

// A session's place among those that use a device, and what it has there. Owned by the session and its queues.
//
// Counting each command would cost more than many of them take, so some are counted together, with the event of the
// last one. Where their queue is in order that is exact; elsewhere it is near enough.
class DeviceTurn final : public RefCounted {
 public:
  ~DeviceTurn() override { leave(); }

  // Whether its work is counted: nothing is when it has the device to itself. Any thread.
  bool counts() const { return turns_->is_shared() || commands_max_ != 0 || is_timed_; }

  // With the session's lock: whether a command of this cost needs an event, to be counted with those before it.
  bool is_due(double cost) const { return is_timed_ || uncounted_ + cost >= batch_.load(std::memory_order_relaxed); }
  // The driver was given that command; `event`: where it was due. True when wait() has to come before the next one.
  bool add(double cost, cl_event event) EXCLUDES(turns_->mutex_);

  // A piece of bulk data. Any thread that may wait.
  void add_bytes(std::uint64_t size, cl_event event) EXCLUDES(turns_->mutex_);
  // Returns when the session may give more.
  void wait() EXCLUDES(turns_->mutex_);

  // The session ends.
  void leave() EXCLUDES(turns_->mutex_);

  static double cost_of_bytes(std::uint64_t size) { return 1 + static_cast<double>(size) / kBytesPerUnit; }

 private:
  friend class DeviceTurns;

  DeviceTurn(Ref<DeviceTurns> turns, std::uint64_t session, FairShare::Member member, std::uint64_t commands_max,
             bool is_timed)
      : turns_(std::move(turns)),
        session_(session),
        member_(member),
        commands_max_(commands_max),
        is_timed_(is_timed) {}

  static constexpr double kBytesPerUnit = 64 << 10;
  static constexpr double kBatchMax = 8;

  void grant();
  bool began(double cost, cl_event event) EXCLUDES(turns_->mutex_);
  void ended(double cost) EXCLUDES(turns_->mutex_);

  const Ref<DeviceTurns> turns_;
  const std::uint64_t session_;
  const FairShare::Member member_;
  const std::uint64_t commands_max_;  // 0: as many as it likes
  const bool is_timed_;
  std::uint64_t under_way_ GUARDED_BY(turns_->mutex_) = 0;                       // counts that began and have not ended
  std::chrono::steady_clock::time_point progress_ GUARDED_BY(turns_->mutex_){};  // the first began, or one has ended
  bool left_ GUARDED_BY(turns_->mutex_) = false;
  std::uint64_t granted_ GUARDED_BY(turns_->mutex_) = 0;  // how often
  ConditionVariable wake_;
  double uncounted_ = 0;           // with the session's lock
  std::atomic<double> batch_ = 1;  // what is counted together
};

}  // namespace remotecl::server
