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
  bool start() {
    const MutexLock lock(mutex_);
    try {
      if (!started_) std::thread([this] { run(); }).detach();
      started_ = true;
    } catch (const std::system_error&) {
    }
    return started_;
  }

  void post(std::function<void()> callback) {
    start();
    const MutexLock lock(mutex_);
    queue_.push_back(std::move(callback));
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

// Never destroyed, because callbacks may still run while the process exits.
CallbackThread& callbacks() {
  static auto& thread = *new CallbackThread;
  return thread;
}

CallbackThread& host_work() {
  static auto& thread = *new CallbackThread;
  return thread;
}

}  // namespace

bool can_call_back() { return callbacks().start(); }
void post_callback(std::function<void()> callback) { callbacks().post(std::move(callback)); }

bool can_do_host_work() { return host_work().start(); }
void post_host_work(std::function<void()> work) { host_work().post(std::move(work)); }

}  // namespace remotecl
