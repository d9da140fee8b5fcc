#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace remotecl {

// Sleeps while the word, which other processes may share, holds `expected`: until woken, possibly spuriously,
// or for at most `time`. Returns false if the time is over.
bool futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::chrono::nanoseconds time);
// Wakes everything that sleeps on the word.
void futex_wake(std::atomic<std::uint32_t>& word);

// The same for the lower half of a number that only rises, and that this process may only read. Its owner wakes.
bool futex_wait(const std::atomic<std::uint64_t>& number, std::uint64_t expected, std::chrono::nanoseconds time);
void futex_wake(std::atomic<std::uint64_t>& number);

// The same for a word with a sign.
bool futex_wait(std::atomic<std::int32_t>& word, std::int32_t expected, std::chrono::nanoseconds time);
void futex_wake(std::atomic<std::int32_t>& word);

}  // namespace remotecl
