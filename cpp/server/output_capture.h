#pragma once

#include <functional>
#include <string_view>

#include "runtime/base/mutex.h"

namespace remotecl::server {

// What kernels print: drivers write it to the standard output of this process, some while the kernel runs, others when
// somebody waits for it. Nothing in it says whose it is, so those kernels run one at a time. Owned by the daemon; any
// thread.
class OutputCapture {
 public:
  using Sink = std::function<void(std::string_view text)>;

  // Runs `work`, which must end what it starts, while standard output goes to `sink`: piece by piece, on another
  // thread, and all of it before this returns. Waits for whoever is at it already.
  void run(const std::function<void()>& work, const Sink& sink) EXCLUDES(mutex_);

 private:
  Mutex mutex_;
};

// Whether a program made of this text, or in this binary, may print. Never wrong when it says no.
bool mentions_printf(std::string_view code);

}  // namespace remotecl::server
