#include "runtime/base/stoppable_thread.h"

#include <exception>

namespace remotecl {

constexpr std::chrono::milliseconds kPauseAfterFailure{100};

void StoppableThread::start() {
  if (is_stopping_ || (thread_.joinable() && !has_ended_)) return;
  if (thread_.joinable()) thread_.join();
  // What the system lacked for a moment, as memory, must not end the process. The owner's state is under the lock, so
  // the thread can begin again.
  thread_ = std::thread([this] {
    for (;;) {
      try {
        return run_();
      } catch (const std::exception&) {
      }
      const MutexLock lock(mutex);
      if (is_stopping_) return;
      wait_until(std::chrono::steady_clock::now() + kPauseAfterFailure);
      if (is_stopping_) return;
    }
  });
  has_ended_ = false;
}

void StoppableThread::request_stop() {
  const MutexLock lock(mutex);
  is_stopping_ = true;
  wake();
}

void StoppableThread::stop() {
  std::thread thread;
  {
    const MutexLock lock(mutex);
    is_stopping_ = true;
    thread.swap(thread_);
    wake();
  }
  if (thread.joinable()) thread.join();
}

}  // namespace remotecl
