#include "runtime/transport/threads/wait_policy.h"

#include "runtime/base/settings.h"

namespace remotecl {

std::chrono::microseconds WaitPolicy::poll_time() {
  static const std::chrono::microseconds time(
      settings::number("REMOTECL_BUSY_POLL", "microseconds", 0, 1'000'000).value_or(0));
  return time;
}

}  // namespace remotecl
