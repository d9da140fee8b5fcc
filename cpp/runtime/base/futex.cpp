#include "runtime/base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace remotecl {

namespace {

template <class Word>
bool wait_on(std::atomic<Word>& word, Word expected, std::chrono::nanoseconds time) {
  static_assert(sizeof word == sizeof(std::uint32_t));
  const timespec relative{static_cast<std::time_t>(time.count() / 1'000'000'000), time.count() % 1'000'000'000};
  return ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &relative, nullptr, 0) == 0 || errno != ETIMEDOUT;
}

void wake_all(void* word) { ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

}  // namespace

bool futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::chrono::nanoseconds time) {
  return wait_on(word, expected, time);
}
void futex_wake(std::atomic<std::uint32_t>& word) { wake_all(&word); }

bool futex_wait(std::atomic<std::int32_t>& word, std::int32_t expected, std::chrono::nanoseconds time) {
  return wait_on(word, expected, time);
}
void futex_wake(std::atomic<std::int32_t>& word) { wake_all(&word); }

}  // namespace remotecl
