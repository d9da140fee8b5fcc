#include "runtime/client/support/callback_thread.h"

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
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(callback));
    if (!started_) {
      try {
        std::thread([this] { run(); }).detach();
        started_ = true;
      } catch (const std::system_error&) {  // later, perhaps: who posts is no place to run it
      }
    }
    wanted_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wanted_.wait(lock, [this] { return !queue_.empty(); });
      std::function<void()> callback = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      callback();
      callback = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<std::function<void()>> queue_;
  bool started_ = false;
};

}  // namespace

// Never destroyed: callbacks may still run while the process exits.

void post_callback(std::function<void()> callback) {
  static auto& thread = *new CallbackThread;
  thread.post(std::move(callback));
}

void post_host_work(std::function<void()> work) {
  static auto& thread = *new CallbackThread;
  thread.post(std::move(work));
}

}  // namespace remotecl
