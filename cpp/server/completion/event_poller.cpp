#include "server/completion/event_poller.h"

#include <algorithm>
#include <utility>

#include "runtime/transport/threads/wait_policy.h"
#include "server/completion/event_waiters.h"

namespace remotecl::server {
namespace {

using Clock = std::chrono::steady_clock;

thread_local EventPoller* this_threads = nullptr;

}  // namespace

EventPoller::EventPoller(const CompletionNotifier& completions) : waiters_(completions.waiters_) {
  this_threads = this;
}

EventPoller::~EventPoller() {
  leave();
  this_threads = nullptr;
}

EventPoller* EventPoller::current() { return this_threads; }
bool EventPoller::is_reporting() { return this_threads != nullptr && this_threads->is_reporting_; }
void EventPoller::after_reporting(std::function<void()> job) {
  this_threads->after_reporting_.push_back(std::move(job));
}

void EventPoller::leave_all() {
  if (this_threads != nullptr) this_threads->leave();
}

void EventPoller::leave() {
  if (waiters_->has_unwatched()) waiters_->watch_all();
}

std::size_t EventPoller::read_some(Connection& connection, MutableBytes to) {
  std::ptrdiff_t count = -1;
  const auto has_read = [&] { return (count = connection.try_read_some(to)) >= 0; };
  if (look_until(has_read) || WaitPolicy::poll_until(has_read)) return static_cast<std::size_t>(count);
  return connection.read_some(to);
}

void EventPoller::look_for_a_while() {
  look_until([] { return false; });
}

template <class Condition>
bool EventPoller::look_until(Condition is_over) {
  if (!waiters_->has_unwatched()) return false;
  if (left_to_skip_ > 0) {
    --left_to_skip_;
  } else {
    const auto end = Clock::now() + kTime;
    do {
      for (int i = 0; i < kLooksPerTurn && waiters_->has_unwatched(); ++i) look();
      if (is_over()) return true;
    } while (waiters_->has_unwatched() && Clock::now() < end);
    skipped_ = !waiters_->has_unwatched() ? 0 : std::min(2 * skipped_ + 1, kSkippedMax);
    left_to_skip_ = skipped_;
  }
  leave();
  return false;
}

void EventPoller::look() {
  is_reporting_ = true;
  waiters_->look();
  is_reporting_ = false;
  for (const auto& job : std::exchange(after_reporting_, {})) job();
}

}  // namespace remotecl::server
