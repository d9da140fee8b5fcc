#include "runtime/client/session/inbox_reader.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <system_error>
#include <utility>

#include "runtime/client/session/background_reader.h"
#include "runtime/client/support/fork_guard.h"
#include "runtime/transport/threads/wait_policy.h"

namespace remotecl {
namespace {

// How long the background leaves the connection to waiting threads after one of them has waited.
constexpr std::chrono::milliseconds kBackgroundPause{20};
// How long a server may take to report why it has ended a session.
constexpr std::chrono::seconds kReasonTime{1};

thread_local const InboxReader* this_thread_reads = nullptr;

// For poll(). Where the process had no descriptor left for `wake`, nobody can wake this thread.
int sleep_ms(int wake, const OptionalDeadline& deadline) {
  const int most = wake < 0 ? 10 : std::numeric_limits<int>::max();
  if (!deadline) return wake < 0 ? most : -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, most));
}

}  // namespace

InboxReader::~InboxReader() { close_wake(); }

void InboxReader::start() {
  background_ = &BackgroundReader::least_loaded();
  background_->add(*this);
}

void InboxReader::join() {
  std::thread end;
  {
    const MutexLock lock(mutex_);
    while (!has_begun_end_) changed_.wait(mutex_);
    end = std::move(end_);
  }
  if (end.joinable()) end.join();
}

void InboxReader::reap() {
  if (is_over_) join();
}

bool InboxReader::wait(const std::function<bool()>& done, const OptionalDeadline& deadline) {
  MutexLock lock(mutex_);
  ++waiters_;
  ++waits_;
  const auto is_late = [&deadline] { return deadline && std::chrono::steady_clock::now() >= *deadline; };
  while (!done() && !loss_.lost() && !is_late()) {
    if (reading_) {
      deadline ? void(changed_.wait_until(mutex_, *deadline)) : changed_.wait(mutex_);
      continue;
    }
    take_turn();
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
  } else if (interest_.load() > 0 && !is_in_background_.load()) {
    background_->wake();
  }
  return ok;
}

void InboxReader::wake() {
  const MutexLock lock(mutex_);
  if (waiters_ == 0) return;
  changed_.notify_all();
  if (reading_) interrupt();
}

// The descriptor that interrupts a waiting thread is made for the first one: idle servers need none.
void InboxReader::take_turn() {
  reading_ = true;
  {
    const MutexLock lock(wake_mutex_);
    if (wake_ < 0) {
      wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
      if (wake_ >= 0) give_up_in_child(wake_);
    }
  }
  if (is_in_background_.exchange(false)) background_->wake();
}

void InboxReader::stop_polling() {
  interrupt();
  if (is_in_background_.load()) background_->wake();
}

void InboxReader::interrupt() {
  const std::uint64_t one = 1;
  const MutexLock lock(wake_mutex_);
  if (wake_ < 0) return;  // no thread has waited yet
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
    take_turn();
  }
  pump(Pump::kTake);
  const MutexLock lock(mutex_);
  reading_ = false;
  if (waiters_ > 0) changed_.notify_all();
}

void InboxReader::add_interest() {
  if (interest_.fetch_add(1) != 0) return;
  if (!is_in_background_.load()) background_->wake();
}

void InboxReader::end_waits() {
  const MutexLock lock(mutex_);
  changed_.notify_all();
  background_->wake();
}

InboxReader::Standing InboxReader::stand_by(Time now, std::vector<pollfd>& polled, Time& next) {
  {
    const MutexLock lock(mutex_);
    if (loss_.lost() && !reading_) {
      reading_ = true;  // for good
      return Standing::kOver;
    }
    // A program that blocks repeatedly reads by itself: stay away as long as it does.
    const bool is_wanted = interest_.load() > 0;
    if (waiters_ > 0 || reading_ || (waits_ != waits_seen_ && !is_wanted)) {
      if (waits_ != waits_seen_ || now >= pauses_until_) pauses_until_ = now + kBackgroundPause;
      waits_seen_ = waits_;
    } else if (is_wanted || now >= pauses_until_) {
      is_in_background_ = true;  // before anything is collected: see stop_polling()
    }
    if (!is_in_background_ || reading_) {
      next = std::min(next, pauses_until_);
      return Standing::kPauses;
    }
    reading_ = true;  // the descriptors to poll change while somebody reads
  }
  polled.push_back({connection_.wait_handle(), POLLIN, 0});
  for (const auto& channel : connection_.channels().all()) {
    if (channel->reader().is_for_session()) polled.push_back({channel->transport().wait_handle(), POLLIN, 0});
  }
  const MutexLock lock(mutex_);
  reading_ = false;
  if (waiters_ > 0) changed_.notify_all();
  return Standing::kReads;
}

void InboxReader::read_now() {
  {
    const MutexLock lock(mutex_);
    if (reading_ || loss_.lost()) return;
    reading_ = true;
  }
  pump(Pump::kTake);
  const MutexLock lock(mutex_);
  reading_ = false;
  if (waiters_ > 0) changed_.notify_all();
}

// Ends on a thread of its own, because that takes time in which this thread has other sessions to read.
void InboxReader::begin_end() {
  std::thread end;
  try {
    end = std::thread([this] { this->end(); });
  } catch (const std::system_error&) {
    this->end();
  }
  const MutexLock lock(mutex_);
  end_ = std::move(end);
  has_begun_end_ = true;
  changed_.notify_all();
}

void InboxReader::end() {
  owner_.release();
  close_wake();
  is_over_ = true;
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
  if (is_there || look(how == Pump::kTake ? 0 : sleep_ms(wake, deadline))) {
    if (waits[1].revents != 0) {
      std::uint64_t rings = 0;
      [[maybe_unused]] const auto taken = ::read(wake, &rings, sizeof rings);
    }
    const InboxReader* const former = std::exchange(this_thread_reads, this);
    try {
      if (waits[0].revents != 0 && !owner_.read_control()) owner_.lose(connection_.control_end());
      for (nfds_t i = 2; i < count; ++i) {
        if (waits[i].revents != 0 && !entered[i - 2]->read()) lose_bulk(*entered[i - 2]);
      }
    } catch (const std::exception& error) {  // out of memory; what was being read is lost
      owner_.lose(std::string("this program cannot go on with it: ") + error.what());
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
