#include "runtime/transport/stream/carrier_handover.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace remotecl {

CarrierHandover::CarrierHandover(std::shared_ptr<Connection> carrier, std::chrono::milliseconds window, Lost lost)
    : lost_(std::move(lost)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      carrier_(std::move(carrier)),
      window_(window) {
  if (wake_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

CarrierHandover::~CarrierHandover() {
  if (wake_ >= 0) ::close(wake_);
}

std::shared_ptr<Connection> CarrierHandover::carrier() const {
  MutexLock lock(mutex_);
  return carrier_;
}

CarrierHandover::Carrier CarrierHandover::take_for_reader() {
  MutexLock lock(mutex_);
  std::uint64_t count = 0;
  if (state_ != State::kEnded) [[maybe_unused]]
    const auto taken = ::read(wake_, &count, sizeof count);
  return {generation_.load(std::memory_order_relaxed), carrier_, resume_at_};
}

CarrierHandover::Carrier CarrierHandover::take_for_writer() const {
  MutexLock lock(mutex_);
  return {generation_.load(std::memory_order_relaxed), carrier_, resume_at_};
}

void CarrierHandover::signal_reader() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
  changed_.notify_all();
}

void CarrierHandover::leave(const std::shared_ptr<Connection>& carrier) {
  State now = State::kBroken;
  {
    MutexLock lock(mutex_);
    if (carrier_ != carrier) return;
    vanished_ = carrier->vanished();
    carrier_ = nullptr;
    state_ = now = ends_when_broken_ || window_.count() == 0 ? State::kEnded : State::kBroken;
    broken_since_ = std::chrono::steady_clock::now();
    if (state_ == State::kEnded) signal_reader();
  }
  carrier->shutdown();
  lost_(now);
}

void CarrierHandover::end(const std::string& reason) {
  std::shared_ptr<Connection> carrier;
  {
    MutexLock lock(mutex_);
    if (state_ == State::kEnded) return;
    state_ = State::kEnded;
    reason_ = reason;
    carrier = std::move(carrier_);
    carrier_ = nullptr;
    signal_reader();
  }
  if (carrier) carrier->shutdown();
  lost_(State::kEnded);
}

CarrierHandover::Attempt CarrierHandover::begin_attempt() {
  std::shared_ptr<Connection> carrier;
  Attempt attempt{};
  {
    MutexLock lock(mutex_);
    carrier = carrier_;
    attempt = {++attempts_, generation_.load()};
  }
  // So that a reader blocked in it returns.
  if (carrier) leave(carrier);
  return attempt;
}

bool CarrierHandover::resume(std::uint64_t attempt, std::shared_ptr<Connection> carrier, std::uint64_t resume_at) {
  MutexLock lock(mutex_);
  if (attempt != attempts_ || state_ != State::kBroken) return false;
  state_ = State::kCarried;
  carrier_ = std::move(carrier);
  resume_at_ = resume_at;
  generation_.fetch_add(1, std::memory_order_release);
  signal_reader();
  return true;
}

CarrierHandover::State CarrierHandover::await_after(std::uint64_t generation, std::chrono::milliseconds time) {
  MutexLock lock(mutex_);
  if (state_ == State::kEnded) return State::kEnded;
  if (generation_.load() != generation) return State::kCarried;
  const auto end = broken_since_ + window_;
  changed_.wait_until(mutex_, std::min(end, std::chrono::steady_clock::now() + time));
  return State::kBroken;
}

void CarrierHandover::await_change(std::chrono::milliseconds time) {
  MutexLock lock(mutex_);
  if (state_ == State::kBroken) changed_.wait_for(mutex_, time);
}

void CarrierHandover::release() {
  MutexLock lock(mutex_);
  ::close(std::exchange(wake_, -1));
}

bool CarrierHandover::is(State state) const {
  MutexLock lock(mutex_);
  return state_ == state;
}

bool CarrierHandover::is_overdue() const {
  MutexLock lock(mutex_);
  return state_ == State::kBroken && std::chrono::steady_clock::now() >= broken_since_ + window_;
}

std::string CarrierHandover::reason() const {
  MutexLock lock(mutex_);
  return reason_;
}

std::chrono::steady_clock::time_point CarrierHandover::broken_since() const {
  MutexLock lock(mutex_);
  return broken_since_;
}

bool CarrierHandover::end_when_broken() {
  MutexLock lock(mutex_);
  ends_when_broken_ = true;
  return state_ == State::kBroken;
}

void CarrierHandover::set_window(std::chrono::milliseconds window) {
  MutexLock lock(mutex_);
  window_ = window;
}

}  // namespace remotecl
