#include "runtime/base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace remotecl {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

bool futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::chrono::nanoseconds time) {
  const timespec relative{static_cast<std::time_t>(time.count() / 1'000'000'000), time.count() % 1'000'000'000};
  return ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &relative, nullptr, 0) == 0 || errno != ETIMEDOUT;
}

void futex_wake(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace remotecl
