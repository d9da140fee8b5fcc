#include "runtime/client/session/inbox_reader.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <utility>

#include "runtime/client/support/fork_guard.h"
#include "runtime/transport/threads/wait_policy.h"

namespace remotecl {
namespace {

// How long the background thread leaves the connection to waiting threads after one of them has waited.
constexpr std::chrono::milliseconds kBackgroundPause{20};
// How long a server may take to report why it has ended a session.
constexpr std::chrono::seconds kReasonTime{1};

thread_local const InboxReader* this_thread_reads = nullptr;

// For poll().
int milliseconds_until(const OptionalDeadline& deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
}

}  // namespace

InboxReader::~InboxReader() { close_wake(); }

void InboxReader::start() {
  {
    const MutexLock lock(wake_mutex_);
    wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    give_up_in_child(wake_);
  }
  background_thread_ = std::thread([this] { run(); });
}

void InboxReader::reap() {
  if (is_over_ && background_thread_.joinable()) background_thread_.join();
}

bool InboxReader::wait(const std::function<bool()>& done, const OptionalDeadline& deadline) {
  MutexLock lock(mutex_);
  ++waiters_;
  ++waits_;
  const auto is_late = [&deadline] { return deadline && std::chrono::steady_clock::now() >= *deadline; };
  while (!done() && !loss_.lost() && !is_late()) {
    if (reading_) {
      if (background_reads_) stop_polling();
      deadline ? void(changed_.wait_until(mutex_, *deadline)) : changed_.wait(mutex_);
      continue;
    }
    reading_ = true;
    lock.unlock();
    pump(Pump::kBusy, deadline);
    lock.lock();
    reading_ = false;
    if (waiters_ > 1) changed_.notify_all();
  }
  const bool ok = done();
  --waiters_;
  if (waiters_ > 0) {
    changed_.notify_one();
  } else if (interest_.load() > 0) {
    background_wanted_.notify_one();
  }
  return ok;
}

void InboxReader::wake() {
  const MutexLock lock(mutex_);
  if (waiters_ == 0) return;
  changed_.notify_all();
  if (reading_) stop_polling();
}

void InboxReader::stop_polling() {
  const std::uint64_t one = 1;
  const MutexLock lock(wake_mutex_);
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

int InboxReader::wake_handle() {
  const MutexLock lock(wake_mutex_);
  return wake_;
}

void InboxReader::close_wake() {
  const MutexLock lock(wake_mutex_);
  if (wake_ < 0) return;
  forget_in_child(wake_);
  ::close(std::exchange(wake_, -1));
}

void InboxReader::poll() {
  {
    const MutexLock lock(mutex_);
    if (reading_ || loss_.lost()) return;  // the reading thread handles everything
    reading_ = true;
  }
  pump(Pump::kTake);
  const MutexLock lock(mutex_);
  reading_ = false;
  if (waiters_ > 0) changed_.notify_all();
}

void InboxReader::add_interest() {
  if (interest_.fetch_add(1) != 0) return;
  const MutexLock lock(mutex_);
  if (waiters_ == 0) background_wanted_.notify_one();
}

void InboxReader::end_waits() {
  const MutexLock lock(mutex_);
  changed_.notify_all();
  background_wanted_.notify_all();
}

void InboxReader::run() {
  read_until_lost();
  owner_.release();
  close_wake();
  is_over_ = true;
}

void InboxReader::read_until_lost() {
  MutexLock lock(mutex_);
  while (!loss_.lost()) {
    if (waiters_ > 0 || reading_) {
      const std::uint64_t seen = waits_;
      background_wanted_.wait_for(mutex_, kBackgroundPause);
      if (waits_ != seen && interest_.load() == 0) continue;
      if (waiters_ > 0 || reading_) continue;
    }
    const std::uint64_t seen = waits_;
    reading_ = background_reads_ = true;
    lock.unlock();
    pump(Pump::kSleep);
    lock.lock();
    reading_ = background_reads_ = false;
    if (waiters_ > 0) changed_.notify_all();
    // A program that blocks repeatedly reads by itself: stay away as long as it does.
    std::uint64_t last = seen;
    while (!loss_.lost() && waits_ != last && interest_.load() == 0) {
      last = waits_;
      background_wanted_.wait_for(mutex_, kBackgroundPause);
    }
  }
  while (reading_) background_wanted_.wait_for(mutex_, kBackgroundPause);
  reading_ = true;  // for good
}

void InboxReader::pump(Pump how, const OptionalDeadline& deadline) {
  std::array<pollfd, 2 + kBulkChannelsMax> waits;
  std::array<BulkChannel*, kBulkChannelsMax> entered;
  waits[0] = {connection_.wait_handle(), POLLIN, 0};
  const int wake = wake_handle();
  waits[1] = {wake, POLLIN, 0};
  nfds_t count = 2;
  for (const auto& channel : connection_.channels().all()) {
    if (!channel->reader().enter()) continue;
    entered[count - 2] = channel.get();
    waits[count++] = {channel->transport().wait_handle(), POLLIN, 0};
  }
  const auto look = [&](int timeout) { return ::poll(waits.data(), count, timeout) > 0; };
  const bool is_there = how == Pump::kBusy && WaitPolicy::poll_until([&look] { return look(0); });
  if (is_there || look(how == Pump::kTake ? 0 : milliseconds_until(deadline))) {
    if (waits[1].revents != 0) {
      std::uint64_t rings = 0;
      [[maybe_unused]] const auto taken = ::read(wake, &rings, sizeof rings);
    }
    const InboxReader* const former = std::exchange(this_thread_reads, this);
    if (waits[0].revents != 0 && !owner_.read_control()) owner_.lose(connection_.control_end());
    for (nfds_t i = 2; i < count; ++i) {
      if (waits[i].revents != 0 && !entered[i - 2]->read()) lose_bulk(*entered[i - 2]);
    }
    this_thread_reads = former;
  }
  for (nfds_t i = 2; i < count; ++i) entered[i - 2]->reader().leave();
}

bool InboxReader::read_apart(BulkChannel& channel) {
  const InboxReader* const former = std::exchange(this_thread_reads, this);
  const bool goes_on = channel.read();
  this_thread_reads = former;
  return goes_on;
}

// Shared memory ends with the process at the other end. The control connection may still report why that
// process ended, if something is left to report it.
void InboxReader::lose_bulk(const BulkChannel& channel) {
  const auto end = std::chrono::steady_clock::now() + kReasonTime;
  while (!loss_.lost() && connection_.may_give_reason()) {
    if (std::chrono::steady_clock::now() >= end) break;
    pollfd wait{connection_.wait_handle(), POLLIN, 0};
    if (::poll(&wait, 1, 10) > 0 && !owner_.read_control()) break;
  }
  owner_.lose(connection_.end_of(channel));
}

bool InboxReader::is_reading() const { return this_thread_reads == this; }

}  // namespace remotecl
