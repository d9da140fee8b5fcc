#include "server/network/proxy.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "server/network/layout.h"

namespace remotecl::server {
namespace {

// The event of the wake list; no socket has this number.
constexpr std::uint64_t kWoken = UINT64_MAX;

Descriptor make_epoll(const WakeList& wakes) {
  Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWoken;
  if (!epoll.valid() || ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wakes.descriptor(), &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll");
  }
  return epoll;
}

// How long the thread looks at the rings without a pause after the last byte. Where it takes the core that the kernel
// or its peer needs, looking is worth less than a wake-up.
std::chrono::microseconds spin_time() {
  return std::chrono::microseconds(std::thread::hardware_concurrency() >= 4 ? 200 : 20);
}

timespec to_timespec(std::chrono::nanoseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  return {seconds.count(), (time - seconds).count()};
}

}  // namespace

Proxy::Proxy(std::byte* memory, const NetworkShape& shape, const Network::Hooks& hooks)
    : memory_(memory),
      account_(hooks.account),
      wakes_(make_ref<WakeList>()),
      epoll_(make_epoll(*wakes_)),
      table_(memory, shape, hooks, wakes_, epoll_.get()),
      spin_(spin_time()),
      thread_([this] { run(); }) {}

Proxy::~Proxy() {
  stop();
  thread_.join();
}

// The clock must not be that of the last kernel when this one begins to wait.
void Proxy::kernel_begins() {
  tell_time(Clock::now());
  ++kernels_;
  wakes_->wake();
}

// What the kernel sent at last must still be looked at.
void Proxy::kernel_ended() {
  --kernels_;
  wakes_->wake();
}

void Proxy::stop() {
  is_stopping_ = true;
  wakes_->wake();
}

NetworkStats Proxy::stats() const { return {sockets_, opened_, sent_, received_}; }

void Proxy::tell_time(Clock::time_point now) {
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  store_shared(memory_ + layout::kClockAt, static_cast<std::uint32_t>(time.count()));
}

void Proxy::publish_stats() {
  sockets_.store(table_.in_use(), std::memory_order_relaxed);
  opened_.store(table_.opened(), std::memory_order_relaxed);
  sent_.store(table_.bytes_sent, std::memory_order_relaxed);
  received_.store(table_.bytes_received, std::memory_order_relaxed);
}

void Proxy::run() {
  Clock::time_point worked_at = Clock::now();
  while (!is_stopping_.load(std::memory_order_relaxed)) {
    const Clock::time_point now = Clock::now();
    tell_time(now);
    const bool is_limited = account_->debt() > std::chrono::nanoseconds::zero();
    const std::uint64_t before = table_.bytes_sent + table_.bytes_received;
    bool has_worked = table_.work(now, !is_limited);
    if (take_events()) has_worked = true;
    const std::uint64_t bytes = table_.bytes_sent + table_.bytes_received - before;
    if (bytes != 0) account_->pay(bytes);
    publish_stats();
    if (has_worked) {
      worked_at = now;
    } else if (kernels_.load(std::memory_order_relaxed) == 0 || now - worked_at >= spin_) {
      sleep(now - worked_at, is_limited);
    }
  }
  store_shared(memory_ + layout::kStopAt, 1);
  table_.stop();
}

bool Proxy::take_events() {
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.u64 == kWoken) {
      wakes_->is_awake();
    } else {
      table_.handle_event(event.data.u64, event.events);
    }
  }
  return count > 0;
}

void Proxy::sleep(Clock::duration idle, bool is_limited) {
  wakes_->falls_asleep();
  // What came before that has not made the descriptor readable.
  if (wakes_->is_empty() && !is_stopping_) {
    std::chrono::nanoseconds time = std::chrono::nanoseconds::max();
    if (kernels_ != 0) time = std::clamp<std::chrono::nanoseconds>(idle / 2, kSleepMin, kSleepMax);
    if (table_.has_closing()) time = std::min<std::chrono::nanoseconds>(time, kTick);
    if (is_limited) time = std::min<std::chrono::nanoseconds>(time, std::max(account_->debt(), {}));
    const timespec limit = to_timespec(time);
    pollfd ready{epoll_.get(), POLLIN, 0};
    ::ppoll(&ready, 1, time == std::chrono::nanoseconds::max() ? nullptr : &limit, nullptr);
  }
  wakes_->is_awake();
}

}  // namespace remotecl::server
