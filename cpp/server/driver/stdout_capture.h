#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "runtime/base/mutex.h"

namespace remotecl::server {

// Captures what kernels print. Drivers write it to the standard output of this process, some while the kernel
// runs, others when somebody waits for it. The text does not say which kernel it comes from, so these kernels
// run one at a time. Owned by the daemon; any thread.
class StdoutCapture {
 public:
  using Sink = std::function<void(std::string_view text)>;

  // Waits for its turn and runs `work` while standard output goes to `sink`, piece by piece, on another
  // thread. `work` must wait for the commands that it starts. All output has been passed on when this
  // returns.
  void run(const std::function<void()>& work, const Sink& sink) EXCLUDES(mutex_);
  // Whether somebody waits for the present turn to end. Any thread.
  bool is_awaited() const EXCLUDES(mutex_);

 private:
  class Turn;

  static void capture(const std::function<void()>& work, const Sink& sink);

  mutable Mutex mutex_;
  ConditionVariable next_;
  std::uint64_t came_ GUARDED_BY(mutex_) = 0;  // turns that were asked for, and those that have ended
  std::uint64_t done_ GUARDED_BY(mutex_) = 0;
};

}  // namespace remotecl::server
