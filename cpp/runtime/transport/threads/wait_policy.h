#pragma once

#include <algorithm>
#include <chrono>

namespace remotecl {

// How a thread looks for what it waits for before it sleeps. One thread, where nothing else is said.
class WaitPolicy {
 public:
  static constexpr auto kSpinTime = std::chrono::microseconds(20);
  static constexpr int kSkippedMax = 255;

  // A short busy wait, for answers that come sooner than a sleeping thread wakes up (25 us on an idle core of a virtual
  // machine). If it does not help, because nothing comes or the other thread has no core to run on, it is tried less
  // and less often, down to once in kSkippedMax sleeps. Returns true as soon as the condition is; false if the wait was
  // skipped or its time is over.
  template <class Condition>
  bool until(Condition condition) {
    if (left_to_skip_ > 0) {
      --left_to_skip_;
      return false;
    }
    if (look_until(condition, kSpinTime, kLooksPerClock)) {
      skipped_ = 0;
      return true;
    }
    left_to_skip_ = skipped_ = std::min(2 * skipped_ + 1, kSkippedMax);
    return false;
  }

  // How long a thread that waits for a message polls for it: REMOTECL_BUSY_POLL from the environment, in microseconds,
  // at most a second; the default is 0. Polling occupies a core, and saves the 5 to 25 us that waking a thread takes in
  // each direction. Any thread.
  static std::chrono::microseconds poll_time();
  // Does that. Returns true as soon as the condition is; false if the time is over. Any thread.
  template <class Condition>
  static bool poll_until(Condition condition) {
    const auto time = poll_time();
    return time.count() != 0 && look_until(condition, time, 1);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kLooksPerClock = 16;

  // Reads the clock after so many looks.
  template <class Condition>
  static bool look_until(Condition& condition, std::chrono::microseconds time, int looks) {
    const auto end = Clock::now() + time;
    do {
      for (int i = 0; i < looks; ++i) {
        if (condition()) return true;
        relax();
      }
    } while (Clock::now() < end);
    return false;
  }

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
