#include "runtime/transport/threads/helper_threads.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <system_error>

#include "runtime/base/futex.h"

namespace remotecl {
namespace {

constexpr std::size_t kWorthHelp = 64u << 10;  // the least size of a copy

unsigned helped_copies_max() {
  static const unsigned count = std::thread::hardware_concurrency() / 4;
  return count;
}
std::atomic<unsigned> g_helped_copies{0};

}  // namespace

template <class Condition>
void HelperThreads::Sleeper::until(Condition condition) {
  while (!condition() && !spin.until(condition)) {
    sleeps.store(1, std::memory_order_seq_cst);
    if (!condition()) futex_wait(sleeps, 1, std::chrono::hours(1));
    sleeps.store(0, std::memory_order_seq_cst);
  }
}

void HelperThreads::Sleeper::wake() {
  if (sleeps.exchange(0, std::memory_order_seq_cst) != 0) futex_wake(sleeps);
}

HelperThreads::~HelperThreads() { dismiss(); }

void HelperThreads::dismiss() {
  for (const auto& helper : helpers_) {
    helper->state.store(kLeave, std::memory_order_seq_cst);
    helper->helper.wake();
  }
  for (const auto& helper : helpers_) {
    if (helper->thread.joinable()) helper->thread.join();
  }
  helpers_.clear();
}

bool HelperThreads::is_there() {
  if (!helpers_.empty() || has_failed_) return !has_failed_;
  try {
    for (unsigned part = 1; part <= size_; ++part) {
      Helper& helper = *helpers_.emplace_back(std::make_unique<Helper>());
      helper.thread = std::thread([this, &helper, part] { serve(helper, part); });
    }
  } catch (const std::system_error&) {
    dismiss();
    has_failed_ = true;
  }
  return !has_failed_;
}

void HelperThreads::run(const std::function<void(unsigned)>& work) {
  work_ = &work;
  for (const auto& helper : helpers_) {
    helper->state.store(kOffered, std::memory_order_seq_cst);
    helper->helper.wake();
  }
  do_part(0);
  for (unsigned part = 1; part <= helpers_.size(); ++part) {
    Helper& helper = *helpers_[part - 1];
    std::uint32_t state = kOffered;
    if (helper.state.compare_exchange_strong(state, kNothing, std::memory_order_seq_cst)) do_part(part);
  }
  for (const auto& helper : helpers_) {
    const auto is_over = [&] {
      const auto state = helper->state.load(std::memory_order_seq_cst);
      return state == kDone || state == kNothing;
    };
    helper->caller.until(is_over);
    helper->state.store(kNothing, std::memory_order_relaxed);
  }
  std::exception_ptr failure;
  {
    MutexLock lock(failure_mutex_);
    failure.swap(failure_);
  }
  if (failure) std::rethrow_exception(failure);
}

void HelperThreads::copy(MutableBytes to, Bytes from) {
  if (from.empty() || (from.size() >= kWorthHelp && copy_together(to, from))) return;
  std::memcpy(to.data(), from.data(), from.size());
}

bool HelperThreads::copy_together(MutableBytes to, Bytes from) {
  const bool may = g_helped_copies.fetch_add(1, std::memory_order_relaxed) < helped_copies_max() && is_there();
  if (may) {
    const std::size_t parts = size_ + 1;
    run([&](unsigned part) {
      const std::size_t begin = from.size() * part / parts, end = from.size() * (part + 1) / parts;
      std::memcpy(to.data() + begin, from.data() + begin, end - begin);
    });
  }
  g_helped_copies.fetch_sub(1, std::memory_order_relaxed);
  return may;
}

void HelperThreads::do_part(unsigned part) {
  try {
    (*work_)(part);
  } catch (...) {
    MutexLock lock(failure_mutex_);
    failure_ = std::current_exception();
  }
}

void HelperThreads::serve(Helper& helper, unsigned part) {
  const auto is_called = [&] {
    const auto state = helper.state.load(std::memory_order_seq_cst);
    return state == kOffered || state == kLeave;
  };
  for (;;) {
    helper.helper.until(is_called);
    std::uint32_t state = kOffered;
    if (helper.state.compare_exchange_strong(state, kTaken, std::memory_order_seq_cst)) {
      do_part(part);
      helper.state.store(kDone, std::memory_order_seq_cst);
      helper.caller.wake();
    } else if (state == kLeave) {
      return;
    }
  }
}

}  // namespace remotecl
