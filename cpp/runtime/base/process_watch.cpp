#include "runtime/base/process_watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace remotecl {

ProcessWatch::ProcessWatch(std::uint64_t process)
    : descriptor_(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0u))) {}

ProcessWatch::~ProcessWatch() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

ProcessWatch::ProcessWatch(ProcessWatch&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

ProcessWatch& ProcessWatch::operator=(ProcessWatch&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

bool ProcessWatch::has_ended() const {
  pollfd wait{descriptor_, POLLIN, 0};
  return descriptor_ >= 0 && ::poll(&wait, 1, 0) > 0;
}

}  // namespace remotecl
