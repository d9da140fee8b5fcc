#include "runtime/transport/copy_helper.h"

#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>

#include "runtime/transport/futex.h"

namespace remotecl {

CopyHelper& CopyHelper::instance() {
  static CopyHelper& helper = *new CopyHelper(std::thread::hardware_concurrency());  // its thread is not joined
  return helper;
}

CopyHelper::CopyHelper(unsigned cores) : is_of_use_(cores >= kCoresMin) {}

void CopyHelper::copy(MutableBytes to, Bytes from) {
  if (from.empty()) return;
  if (is_of_use_ && from.size() >= kWorthHelp && mutex_.try_lock()) {
    if (has_thread()) {
      const std::size_t half = from.size() / 2;
      offer(to.subspan(half), from.subspan(half));
      std::memcpy(to.data(), from.data(), half);
      finish();
      mutex_.unlock();
      return;
    }
    mutex_.unlock();
  }
  std::memcpy(to.data(), from.data(), from.size());
}

bool CopyHelper::has_thread() {
  if (has_thread_) return true;
  try {
    std::thread([this] { run(); }).detach();
    has_thread_ = true;
  } catch (const std::system_error&) {  // copies are slower, that is all
  }
  return has_thread_;
}

// The state is stored before the sleeper is looked for, and the other way round there (seq_cst): one sees the other.
void CopyHelper::offer(MutableBytes to, Bytes from) {
  to_ = to;
  from_ = from;
  state_.store(kOffered, std::memory_order_seq_cst);
  if (sleeps_.exchange(0, std::memory_order_seq_cst) != 0) futex_wake(sleeps_);
}

// Never waits for the helper to begin: what it has not begun is taken back.
void CopyHelper::finish() {
  std::uint32_t state = kOffered;
  if (state_.compare_exchange_strong(state, kNothing, std::memory_order_seq_cst)) {
    std::memcpy(to_.data(), from_.data(), from_.size());
    return;
  }
  AdaptiveSpin spin;
  while (state_.load(std::memory_order_acquire) != kDone) {
    if (!spin.until([this] { return state_.load(std::memory_order_acquire) == kDone; })) std::this_thread::yield();
  }
  state_.store(kNothing, std::memory_order_relaxed);
}

void CopyHelper::run() {
  const auto is_offered = [this] { return state_.load(std::memory_order_seq_cst) == kOffered; };
  for (;;) {
    if (!spin_.until(is_offered)) {
      sleeps_.store(1, std::memory_order_seq_cst);
      if (!is_offered()) futex_wait(sleeps_, 1, std::chrono::hours(1));
      sleeps_.store(0, std::memory_order_seq_cst);
    }
    std::uint32_t state = kOffered;
    if (!state_.compare_exchange_strong(state, kTaken, std::memory_order_seq_cst)) continue;
    std::memcpy(to_.data(), from_.data(), from_.size());
    state_.store(kDone, std::memory_order_release);
  }
}

}  // namespace remotecl
