#include "runtime/client/support/callback_thread.h"
#include "runtime/base/mutex.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace remotecl {
namespace {

class CallbackThread {
 public:
  void post(std::function<void()> callback) {
    const MutexLock lock(mutex_);
    queue_.push_back(std::move(callback));
    if (!started_) {
      try {
        std::thread([this] { run(); }).detach();
        started_ = true;
      } catch (const std::system_error&) {  // it may succeed later; the posting thread must not run the callback
      }
    }
    wanted_.notify_one();
  }

 private:
  void run() {
    MutexLock lock(mutex_);
    for (;;) {
      while (queue_.empty()) wanted_.wait(mutex_);
      std::function<void()> callback = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      callback();
      callback = nullptr;
      lock.lock();
    }
  }

  Mutex mutex_;
  ConditionVariable wanted_;
  std::deque<std::function<void()>> queue_ GUARDED_BY(mutex_);
  bool started_ GUARDED_BY(mutex_) = false;
};

}  // namespace

// Never destroyed, because callbacks may still run while the process exits.

void post_callback(std::function<void()> callback) {
  static auto& thread = *new CallbackThread;
  thread.post(std::move(callback));
}

void post_host_work(std::function<void()> work) {
  static auto& thread = *new CallbackThread;
  thread.post(std::move(work));
}

}  // namespace remotecl
