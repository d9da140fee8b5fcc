#pragma once

#include <chrono>

namespace remotecl {

// How long a thread that waits for the other side's message looks for it again and again before it sleeps:
// REMOTECL_BUSY_POLL in the environment, in microseconds, at most a second; 0, the default: not at all. Waking a thread
// takes 5 to 25 us of each direction, which looking saves, for a core's time.
std::chrono::microseconds busy_poll_time();

// True as soon as the condition is; false when the time is over.
template <class Condition>
bool busy_poll(Condition condition) {
  const auto time = busy_poll_time();
  if (time.count() == 0) return false;
  const auto end = std::chrono::steady_clock::now() + time;
  do {
    if (condition()) return true;
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace remotecl
