#include "server/completion/event_poller.h"

#include <algorithm>
#include <utility>

#include "runtime/transport/threads/busy_poll.h"
#include "server/completion/event_waiters.h"

namespace remotecl::server {
namespace {

using Clock = std::chrono::steady_clock;

thread_local EventPoller* this_threads = nullptr;

}  // namespace

EventPoller::EventPoller() { this_threads = this; }

EventPoller::~EventPoller() {
  leave();
  this_threads = nullptr;
}

EventPoller* EventPoller::current() { return this_threads; }
bool EventPoller::is_telling() { return this_threads != nullptr && this_threads->telling_; }
void EventPoller::after_telling(std::function<void()> job) { this_threads->after_telling_.push_back(std::move(job)); }

void EventPoller::leave_all() {
  if (this_threads != nullptr) this_threads->leave();
}

void EventPoller::leave() {
  left_ = true;
  if (lanes_.empty()) return;
  EventWaiters::instance().take_over(lanes_);
  lanes_.clear();
}

std::size_t EventPoller::read_some(Connection& connection, MutableBytes to) {
  std::ptrdiff_t count = -1;
  const auto has_read = [&] { return (count = connection.try_read_some(to)) >= 0; };
  if (look_until(has_read) || busy_poll(has_read)) return static_cast<std::size_t>(count);
  return connection.read_some(to);
}

void EventPoller::look_for_a_while() {
  look_until([] { return false; });
}

template <class Condition>
bool EventPoller::look_until(Condition is_over) {
  if (lanes_.empty()) return false;
  if (left_to_skip_ > 0) {
    --left_to_skip_;
  } else {
    const auto end = Clock::now() + kTime;
    do {
      for (int i = 0; i < kLooksPerTurn && !lanes_.empty(); ++i) look();
      if (is_over()) return true;
    } while (!lanes_.empty() && Clock::now() < end);
    skipped_ = lanes_.empty() ? 0 : std::min(2 * skipped_ + 1, kSkippedMax);
    left_to_skip_ = skipped_;
  }
  leave();
  return false;
}

void EventPoller::look() {
  // What is told may open lanes, and may leave all but the one that is being told of.
  for (std::size_t count = lanes_.size(); count > 0 && !lanes_.empty(); --count) {
    void* const lane = lanes_.front();
    lanes_.erase(lanes_.begin());
    left_ = false;
    telling_ = true;
    const bool goes_on = EventWaiters::instance().look(lane);
    telling_ = false;
    if (goes_on) lanes_.push_back(lane);
    if (left_) leave();
    for (const auto& job : std::exchange(after_telling_, {})) job();
  }
}

}  // namespace remotecl::server
