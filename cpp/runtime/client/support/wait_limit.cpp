#include "runtime/client/support/wait_limit.h"

#include <utility>

namespace remotecl {
namespace {

thread_local OptionalDeadline t_deadline;
thread_local unsigned t_left = 0;

}  // namespace

unsigned WaitLimit::set(std::optional<std::chrono::nanoseconds> time) {
  t_deadline.reset();
  if (time) t_deadline = std::chrono::steady_clock::now() + *time;
  return std::exchange(t_left, 0);
}

const OptionalDeadline& WaitLimit::deadline() { return t_deadline; }

void WaitLimit::note(Left left) { t_left |= left; }

}  // namespace remotecl
