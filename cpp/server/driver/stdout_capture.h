#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "runtime/base/mutex.h"

namespace remotecl::server {

// What kernels print: drivers write it to the standard output of this process, some while the kernel runs, others when
// somebody waits for it. Nothing in it says whose it is, so those kernels run one at a time. Owned by the daemon; any
// thread.
class StdoutCapture {
 public:
  using Sink = std::function<void(std::string_view text)>;

  // Runs `work`, which must end what it starts, while standard output goes to `sink`: piece by piece, on another
  // thread, and all of it before this returns. Waits for those who came before.
  void run(const std::function<void()>& work, const Sink& sink) EXCLUDES(mutex_);
  // Whether somebody waits for whoever is at it. Any thread.
  bool is_awaited() const EXCLUDES(mutex_);

 private:
  class Turn;

  static void capture(const std::function<void()>& work, const Sink& sink);

  mutable Mutex mutex_;
  ConditionVariable next_;
  std::uint64_t came_ GUARDED_BY(mutex_) = 0;  // how many have come, and have had their turn
  std::uint64_t done_ GUARDED_BY(mutex_) = 0;
};

}  // namespace remotecl::server
