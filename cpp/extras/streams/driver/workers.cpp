#include "extras/streams/driver/workers.h"

#include <chrono>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/mutex.h"

namespace remotecl::plugins {
namespace {

constexpr unsigned kThreadsMax = 128;
constexpr std::chrono::seconds kIdleTime{10};

class Workers {
 public:
  void submit(std::function<void()> work) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    work_.push_back(std::move(work));
    if (work_.size() <= idle_) {
      changed_.notify_one();
    } else if (threads_ < kThreadsMax) {
      start();
    }
  }

 private:
  void start() REQUIRES(mutex_) {
    try {
      std::thread([this] { serve(); }).detach();
      ++threads_;
    } catch (const std::system_error&) {
      // An existing thread will do the work; if there is none, the next one that starts.
    }
  }

  void serve() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    for (;;) {
      if (work_.empty()) {
        ++idle_;
        const auto end = std::chrono::steady_clock::now() + kIdleTime;
        while (work_.empty() && changed_.wait_until(mutex_, end) == std::cv_status::no_timeout) {
        }
        --idle_;
        if (work_.empty()) break;
      }
      std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
      work = nullptr;  // without the lock, because what it holds may need others
      lock.lock();
    }
    --threads_;
  }

  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<std::function<void()>> work_ GUARDED_BY(mutex_);
  std::size_t idle_ GUARDED_BY(mutex_) = 0;
  unsigned threads_ GUARDED_BY(mutex_) = 0;
};

}  // namespace

void submit_work(std::function<void()> work) {
  static Workers& workers = *new Workers;  // its threads outlive static objects
  workers.submit(std::move(work));
}

}  // namespace remotecl::plugins
