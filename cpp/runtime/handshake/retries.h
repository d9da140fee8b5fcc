#pragma once

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

namespace remotecl {

// The pauses between attempts that fail: growing, and random, so that many clients do not try at the same moments.
class Retries {
 public:
  // While an error is handled: returns after a pause, or throws the error again if the pause would end later than this
  // long after the first attempt.
  void rest(std::chrono::milliseconds window) {
    const auto jitter = std::chrono::milliseconds(random_() % static_cast<unsigned>(pause_.count()));
    const auto next = std::chrono::steady_clock::now() + pause_ / 2 + jitter;
    if (next - begin_ >= window) throw;
    std::this_thread::sleep_until(next);
    pause_ = std::min(2 * pause_, kLongestPause);
  }

 private:
  static constexpr std::chrono::milliseconds kFirstPause{20}, kLongestPause{2000};

  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::milliseconds pause_ = kFirstPause;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace remotecl
