#include "runtime/transport/stream/carrier_monitor.h"

#include <sys/epoll.h>

#include <cerrno>
#include <system_error>
#include <thread>

namespace remotecl {

CarrierMonitor& CarrierMonitor::instance() {
  static CarrierMonitor& watch = *new CarrierMonitor;  // its thread is not joined
  return watch;
}

CarrierMonitor::CarrierMonitor() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

void CarrierMonitor::watch(Connection& whole, const std::vector<std::shared_ptr<Connection>>& carriers) {
  MutexLock lock(mutex_);
  if (!has_thread_) {
    std::thread([this] { run(); }).detach();
    has_thread_ = true;
  }
  watched_.emplace(++last_, &whole);
  for (const auto& carrier : carriers) {
    epoll_event event{};
    event.events = EPOLLRDHUP | EPOLLONESHOT;  // and errors, always
    event.data.u64 = last_;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, carrier->wait_handle(), &event);
  }
}

void CarrierMonitor::forget(Connection& whole, const std::vector<std::shared_ptr<Connection>>& carriers) {
  MutexLock lock(mutex_);
  for (const auto& carrier : carriers) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, carrier->wait_handle(), nullptr);
  std::erase_if(watched_, [&whole](const auto& each) { return each.second == &whole; });
}

void CarrierMonitor::run() {
  for (;;) {
    epoll_event event{};
    if (::epoll_wait(epoll_, &event, 1, -1) != 1) continue;
    MutexLock lock(mutex_);
    const auto at = watched_.find(event.data.u64);
    if (at != watched_.end()) at->second->shutdown();
  }
}

}  // namespace remotecl
