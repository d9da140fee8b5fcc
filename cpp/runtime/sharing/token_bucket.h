#pragma once

#include <chrono>
#include <cstdint>

namespace remotecl {

// How fast bytes may go: `rate` per second on average, and a little at once after a pause. What has gone is paid for
// afterwards: who is in debt waits. A value; no clock of its own, no lock.
class TokenBucket {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  // REQUIRES: `rate` is not 0.
  explicit TokenBucket(std::uint64_t rate);

  void take(std::uint64_t bytes, Time now) { paid_until_ = paid_until(paid_until_, bytes, now); }
  // How long until more may go; 0: now.
  Duration debt(Time now) const { return paid_until_ > now ? paid_until_ - now : Duration::zero(); }

  // take(), for who keeps elsewhere when all that has gone will have been paid for: the next such time.
  Time paid_until(Time before, std::uint64_t bytes, Time now) const;

 private:
  // What a pause is worth at most.
  static constexpr std::chrono::milliseconds kBurst{50};

  const double seconds_per_byte_;
  Time paid_until_{};  // when all that has gone will have been paid for
};

}  // namespace remotecl
