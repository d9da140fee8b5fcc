#include "runtime/base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <climits>
#include <ctime>

namespace remotecl {

namespace {

bool wait_on(const void* word, std::uint32_t expected, std::chrono::nanoseconds time) {
  const timespec relative{static_cast<std::time_t>(time.count() / 1'000'000'000), time.count() % 1'000'000'000};
  return ::syscall(SYS_futex, word, FUTEX_WAIT, expected, &relative, nullptr, 0) == 0 || errno != ETIMEDOUT;
}

void wake_all(void* word) { ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

}  // namespace

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
static_assert(std::endian::native == std::endian::little, "the lower half of a number is at its address");

bool futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::chrono::nanoseconds time) {
  return wait_on(&word, expected, time);
}
void futex_wake(std::atomic<std::uint32_t>& word) { wake_all(&word); }

bool futex_wait(const std::atomic<std::uint64_t>& number, std::uint64_t expected, std::chrono::nanoseconds time) {
  return wait_on(&number, static_cast<std::uint32_t>(expected), time);
}
void futex_wake(std::atomic<std::uint64_t>& number) { wake_all(&number); }

bool futex_wait(std::atomic<std::int32_t>& word, std::int32_t expected, std::chrono::nanoseconds time) {
  return wait_on(&word, static_cast<std::uint32_t>(expected), time);
}
void futex_wake(std::atomic<std::int32_t>& word) { wake_all(&word); }

}  // namespace remotecl
