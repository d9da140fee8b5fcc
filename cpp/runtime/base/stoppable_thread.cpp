#include "runtime/base/stoppable_thread.h"

namespace remotecl {

void StoppableThread::start() {
  if (is_stopping_ || (thread_.joinable() && !has_ended_)) return;
  if (thread_.joinable()) thread_.join();
  thread_ = std::thread(run_);
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
