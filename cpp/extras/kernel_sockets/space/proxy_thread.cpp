#include "extras/kernel_sockets/space/proxy_thread.h"

#include <poll.h>
#include <sys/epoll.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "extras/kernel_sockets/space/layout.h"
#include "extras/kernel_sockets/space/socket_table.h"

namespace remotecl::server {
namespace {

// Marks the wake event in what epoll reports; no socket has this number.
constexpr std::uint64_t kWoken = UINT64_MAX;

Descriptor make_epoll(const WakeEvent& wakes) {
  Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWoken;
  if (!epoll.valid() || ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wakes.descriptor(), &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll");
  }
  return epoll;
}

// How long the thread polls the rings without a pause after the last byte. On few cores that is short, because polling
// takes a core from the kernel or its peer, which costs more than a wake-up.
std::chrono::microseconds spin_time() {
  return std::chrono::microseconds(std::thread::hardware_concurrency() >= 4 ? 200 : 20);
}

timespec to_timespec(std::chrono::nanoseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  return {seconds.count(), (time - seconds).count()};
}

// Of this thread.
std::chrono::nanoseconds processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

ProxyThread::ProxyThread(Proxy& proxy, bool is_first)
    : proxy_(proxy),
      is_first_(is_first),
      event_(make_ref<WakeEvent>()),
      epoll_(make_epoll(*event_)),
      spin_(spin_time()),
      thread_([this] { run(); }) {}

void ProxyThread::join() {
  event_->wake();
  if (thread_.joinable()) thread_.join();
}

bool ProxyThread::give(const std::vector<SocketTable*>& lanes) {
  {
    MutexLock lock(mutex_);
    if (has_ended_) return false;
    given_.insert(given_.end(), lanes.begin(), lanes.end());
    has_given_ = true;
  }
  event_->wake();
  return true;
}

void ProxyThread::take_lanes() {
  std::vector<SocketTable*> given;
  {
    MutexLock lock(mutex_);
    has_given_ = false;
    given = std::exchange(given_, {});
  }
  for (SocketTable* const table : given) {
    table->join(epoll_.get(), event_);
    lanes_.push_back({table});
  }
  load_.restart(Clock::now(), processor_time());
}

void ProxyThread::run() {
  SocketAccount& account = *proxy_.group().hooks.account;
  Clock::time_point worked_at = Clock::now(), before = worked_at;
  bool has_worked = false;
  while (!proxy_.is_stopping()) {
    const Clock::time_point now = Clock::now();
    if (has_worked) load_.worked(now - before);
    before = now;
    if (is_first_) proxy_.report_time(now);
    if (has_given_) take_lanes();
    const bool is_limited = account.debt() > std::chrono::nanoseconds::zero();
    has_worked = work(now, !is_limited);
    if (load_.is_due(now) && proxy_.rule() != SpaceThreads::Rule::kFixed) share(now);
    if (has_worked) {
      worked_at = now;
    } else if (!proxy_.has_kernels() || now - worked_at >= spin_) {
      sleep(now - worked_at, is_limited);
    }
  }
  end();
}

bool ProxyThread::work(Clock::time_point now, bool moves) {
  bool has_worked = false;
  std::uint64_t bytes = 0;
  for (Lane& lane : lanes_) {
    bytes -= lane.table->bytes();
    if (lane.table->work(now, moves)) {
      has_worked = true;
      ++lane.busy_rounds;
    }
    bytes += lane.table->bytes();
  }
  if (bytes != 0) proxy_.group().hooks.account->pay(bytes);
  return take_events() || has_worked;
}

bool ProxyThread::take_events() {
  LaneGroup& group = proxy_.group();
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.u64 == kWoken) {
      event_->is_awake();
      continue;
    }
    // epoll reports only on the lanes that the thread has.
    const auto lane = std::find_if(lanes_.begin(), lanes_.end(),
                                   [&](const Lane& one) { return one.table->lane() == group.lane_of(event.data.u64); });
    if (lane != lanes_.end()) lane->table->handle_event(event.data.u64, event.events);
  }
  return count > 0;
}

void ProxyThread::share(Clock::time_point now) {
  using Verdict = ThreadLoad::Verdict;
  const bool is_restless = proxy_.rule() == SpaceThreads::Rule::kRestless;
  Verdict verdict = load_.judge(now, processor_time());
  if (is_restless) verdict = is_first_ ? Verdict::kBusy : Verdict::kCalm;
  std::vector<SocketTable*> given;
  if (verdict == Verdict::kCalm && !is_first_ && !lanes_.empty()) {
    for (const Lane& lane : lanes_) given.push_back(lane.table);
    hand_over(proxy_.first_thread(), given);
    is_free_ = lanes_.empty();
  } else if (verdict == Verdict::kBusy) {
    // The busiest first: the other thread gets every second one.
    std::sort(lanes_.begin(), lanes_.end(), [](const Lane& a, const Lane& b) { return a.busy_rounds > b.busy_rounds; });
    for (std::size_t i = 1; i < lanes_.size() && (lanes_[i].busy_rounds != 0 || is_restless); i += 2) {
      given.push_back(lanes_[i].table);
    }
    ProxyThread* const other = given.empty() ? nullptr : proxy_.another_thread();
    if (other != nullptr) hand_over(*other, given);
    load_.restart(now, processor_time());
  }
  for (Lane& lane : lanes_) lane.busy_rounds = 0;
}

void ProxyThread::hand_over(ProxyThread& other, const std::vector<SocketTable*>& lanes) {
  for (SocketTable* const table : lanes) table->leave();
  if (!other.give(lanes)) {  // the network stops, and so will this thread
    for (SocketTable* const table : lanes) table->join(epoll_.get(), event_);
    return;
  }
  std::erase_if(
      lanes_, [&lanes](const Lane& lane) { return std::find(lanes.begin(), lanes.end(), lane.table) != lanes.end(); });
}

void ProxyThread::sleep(Clock::duration idle, bool is_limited) {
  event_->falls_asleep();
  // Messages that came before falls_asleep() have not made the descriptor readable.
  const bool has_letters =
      std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.table->has_letters(); });
  const bool has_closing =
      std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.table->has_closing(); });
  if (!has_letters && !has_given_ && !proxy_.is_stopping()) {
    std::chrono::nanoseconds time = std::chrono::nanoseconds::max();
    if (proxy_.has_kernels()) time = std::clamp<std::chrono::nanoseconds>(idle / 2, kSleepMin, kSleepMax);
    if (has_closing) time = std::min<std::chrono::nanoseconds>(time, kTick);
    if (is_limited) {
      time = std::min<std::chrono::nanoseconds>(time, std::max(proxy_.group().hooks.account->debt(), {}));
    }
    if (lanes_.empty()) time = std::chrono::nanoseconds::max();
    const timespec limit = to_timespec(time);
    pollfd ready{epoll_.get(), POLLIN, 0};
    ::ppoll(&ready, 1, time == std::chrono::nanoseconds::max() ? nullptr : &limit, nullptr);
  }
  event_->is_awake();
}

void ProxyThread::end() {
  {
    MutexLock lock(mutex_);
    has_ended_ = true;
  }
  take_lanes();
  store_shared(proxy_.group().memory + layout::kStopAt, 1);
  for (const Lane& lane : lanes_) lane.table->end_waits();
  send_rest();
  for (const Lane& lane : lanes_) lane.table->stop();
}

// A kernel may send something just before it ends, and its program may then end the network at once.
void ProxyThread::send_rest() {
  constexpr int kLookMs = 5;
  const SocketAccount& account = *proxy_.group().hooks.account;
  const Clock::time_point begin = Clock::now();
  for (Clock::time_point now = begin; now - begin < kFarewell; now = Clock::now()) {
    const bool is_limited = account.debt() > std::chrono::nanoseconds::zero();
    const bool has_worked = work(now, !is_limited);
    const bool has_unsent =
        std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.table->has_unsent(); });
    if (!is_limited && !has_unsent) return;
    if (has_worked) continue;
    pollfd ready{epoll_.get(), POLLIN, 0};
    ::poll(&ready, 1, kLookMs);
  }
}

}  // namespace remotecl::server
