#pragma once

#include <chrono>
#include <cstdint>

namespace remotecl {

// Limits bytes to `rate` per second on average, with a small burst after a pause. Bytes are paid for after
// they have been sent: while there is debt, the sender waits. A value without a clock or lock.
class TokenBucket {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  // REQUIRES: `rate` is not 0.
  explicit TokenBucket(std::uint64_t rate);

  void take(std::uint64_t bytes, Time now) { paid_until_ = paid_until(paid_until_, bytes, now); }
  // How long until more may be sent; 0 means now.
  Duration debt(Time now) const { return paid_until_ > now ? paid_until_ - now : Duration::zero(); }

  // A take() for callers that store the time until which everything is paid for; returns its new value.
  Time paid_until(Time before, std::uint64_t bytes, Time now) const;

 private:
  // The most that a pause is worth.
  static constexpr std::chrono::milliseconds kBurst{50};

  const double seconds_per_byte_;
  Time paid_until_{};  // when everything sent so far is paid for
};

}  // namespace remotecl
