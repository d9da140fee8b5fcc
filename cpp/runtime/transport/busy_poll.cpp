#include "runtime/transport/busy_poll.h"

#include <algorithm>
#include <cstdlib>

namespace remotecl {

std::chrono::microseconds busy_poll_time() {
  static const std::chrono::microseconds time = [] {
    const char* const text = std::getenv("REMOTECL_BUSY_POLL");
    const long value = text != nullptr ? std::strtol(text, nullptr, 10) : 0;
    return std::chrono::microseconds(std::clamp(value, 0L, 1'000'000L));
  }();
  return time;
}

}  // namespace remotecl
