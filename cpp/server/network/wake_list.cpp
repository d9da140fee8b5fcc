#include "server/network/wake_list.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace remotecl::server {

WakeList::WakeList() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_.valid()) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void WakeList::wake(std::uint64_t socket) {
  {
    MutexLock lock(mutex_);
    sockets_.push_back(socket);
    has_some_ = true;
  }
  if (is_asleep_) wake();
}

void WakeList::wake() {
  const std::uint64_t one = 1;
  // Fails only if it is readable already.
  static_cast<void>(!::write(event_.get(), &one, sizeof one));
}

std::vector<std::uint64_t> WakeList::take() {
  MutexLock lock(mutex_);
  has_some_ = false;
  return std::exchange(sockets_, {});
}

void WakeList::is_awake() {
  is_asleep_ = false;
  std::uint64_t count = 0;
  static_cast<void>(!::read(event_.get(), &count, sizeof count));
}

}  // namespace remotecl::server
