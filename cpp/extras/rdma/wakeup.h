#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace remotecl {

// A descriptor that is readable from set() to clear(). Any thread.
class Wakeup {
 public:
  Wakeup() : handle_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (handle_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  ~Wakeup() { ::close(handle_); }
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  int handle() const { return handle_; }
  void set() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(handle_, &one, sizeof(one));
  }
  void clear() {
    std::uint64_t count;
    [[maybe_unused]] const auto taken = ::read(handle_, &count, sizeof(count));
  }

 private:
  const int handle_;
};

}  // namespace remotecl
