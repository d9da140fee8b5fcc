#pragma once

#include <algorithm>
#include <chrono>

namespace remotecl {

// A short busy wait before a sleep, for answers that come sooner than a sleeping thread wakes up (25 us on an
// idle core of a virtual machine). If it does not help, because nothing comes or the other thread has no core
// to run on, it is tried less and less often, down to once in kSkippedMax sleeps. One thread.
class AdaptiveSpin {
 public:
  static constexpr auto kTime = std::chrono::microseconds(20);
  static constexpr int kSkippedMax = 255;

  // Returns true as soon as the condition is; false if the spin was skipped or its time is over.
  template <class Condition>
  bool until(Condition condition) {
    if (left_to_skip_ > 0) {
      --left_to_skip_;
      return false;
    }
    const auto end = Clock::now() + kTime;
    do {
      for (int i = 0; i < kLooksPerClock; ++i) {
        if (condition()) {
          skipped_ = 0;
          return true;
        }
        relax();
      }
    } while (Clock::now() < end);
    left_to_skip_ = skipped_ = std::min(2 * skipped_ + 1, kSkippedMax);
    return false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kLooksPerClock = 16;

  static void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  int skipped_ = 0;
  int left_to_skip_ = 0;
};

}  // namespace remotecl
