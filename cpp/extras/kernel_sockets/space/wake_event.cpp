#include "extras/kernel_sockets/space/wake_event.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace remotecl::server {

WakeEvent::WakeEvent() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_.valid()) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void WakeEvent::wake() {
  const std::uint64_t one = 1;
  // Fails only if it is readable already.
  static_cast<void>(!::write(event_.get(), &one, sizeof one));
}

void WakeEvent::is_awake() {
  is_asleep_ = false;
  std::uint64_t count = 0;
  static_cast<void>(!::read(event_.get(), &count, sizeof count));
}

}  // namespace remotecl::server
