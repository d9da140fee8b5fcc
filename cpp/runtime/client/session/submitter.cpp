#include "runtime/client/session/submitter.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

#include "runtime/client/session/control_writer.h"
#include "runtime/client/support/fork_guard.h"

namespace remotecl {

Submitter::~Submitter() {
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    thread.swap(thread_);
  }
  is_ending_.store(true);
  if (thread.joinable()) {
    set_timer(1);  // long ago
    thread.join();
  }
  if (timer_ < 0) return;
  forget_in_child(timer_);
  ::close(timer_);
}

void Submitter::start() {
  const MutexLock lock(mutex_);
  if (thread_.joinable()) return;
  if (timer_ < 0) {
    timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (timer_ < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
    give_up_in_child(timer_);
    cheap_delay_ = measure_cheap_delay();
  }
  thread_ = std::thread([this] { run(); });
}

void Submitter::add(const std::shared_ptr<ControlWriter>& writer) {
  const MutexLock lock(mutex_);
  auto writers = std::make_shared<Writers>(*writers_);
  writers->push_back(writer);
  writers_ = std::move(writers);
}

void Submitter::remove(const ControlWriter& writer) {
  {
    const MutexLock lock(mutex_);
    auto writers = std::make_shared<Writers>(*writers_);
    std::erase_if(*writers, [&writer](const auto& known) { return known.get() == &writer; });
    writers_ = std::move(writers);
  }
  const MutexLock pass(pass_mutex_);  // the thread may just be using the writer
}

std::shared_ptr<const Submitter::Writers> Submitter::writers() {
  const MutexLock lock(mutex_);
  return writers_;
}

void Submitter::submit_all() {
  if (filled_.load() == 0 || in_forked_child()) return;
  const std::shared_ptr<const Writers> all = writers();
  for (const auto& writer : *all) writer->submit_beside();
}

// 0 switches the timer off.
void Submitter::set_timer(std::int64_t time_ns) const {
  constexpr std::int64_t kSecond_ns = 1'000'000'000;
  const itimerspec at{{}, {time_ns / kSecond_ns, time_ns % kSecond_ns}};
  ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
}

std::chrono::microseconds Submitter::measure_cheap_delay() const {
  constexpr int kTries = 5;
  constexpr std::int64_t kSoon_ns = 100'000, kTimes = 100;
  std::int64_t cost_ns = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < kTries; ++i) {
    const std::int64_t begin_ns = now_ns();
    set_timer(begin_ns + kSoon_ns);
    set_timer(0);
    cost_ns = std::min(cost_ns, now_ns() - begin_ns);
  }
  return std::clamp(std::chrono::microseconds(cost_ns * kTimes / 1000), kCheapDelayMin, kCheapDelayMax);
}

void Submitter::wake_by(std::int64_t time_ns) {
  std::int64_t due_ns = due_ns_.load();
  while (due_ns == 0 || time_ns < due_ns) {
    if (!due_ns_.compare_exchange_weak(due_ns, time_ns)) continue;
    set_timer(time_ns);
    // Another thread may have set it to an earlier time in between.
    for (due_ns = due_ns_.load(); due_ns != 0 && due_ns < time_ns; due_ns = due_ns_.load()) {
      time_ns = due_ns;
      set_timer(time_ns);
    }
    return;
  }
}

void Submitter::run() {
  for (;;) {
    std::uint64_t ends = 0;
    if (::read(timer_, &ends, sizeof ends) < 0 && errno != EINTR) return;
    if (is_ending_.load()) return;
    // Cleared before the writers are checked, so that a thread that appends later sets the timer again.
    due_ns_.store(0);
    const MutexLock lock(pass_mutex_);
    const std::shared_ptr<const Writers> all = writers();
    for (const auto& writer : *all) writer->submit_due();
  }
}

}  // namespace remotecl
