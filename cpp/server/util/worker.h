#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/base/mutex.h"

namespace remotecl::server {

// Runs jobs: in order on one thread, or on up to `threads_max` threads. Threads are started when they are needed, and
// end when they have had nothing to do for a while. An exception of a job goes to `failed`, which must not throw, on
// the job's thread. Owned by a session. Any thread may call post(), including a driver's callback; the owner calls
// stop(), once.
class Worker {
 public:
  using Job = std::function<void()>;

  using Failed = std::function<void(const std::exception&)>;

  explicit Worker(Failed failed, std::size_t threads_max = 1) : failed_(std::move(failed)), threads_max_(threads_max) {}
  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Drops the job after stop(). Throws std::system_error or std::bad_alloc if not even one thread can be started.
  void post(Job job) EXCLUDES(mutex_);
  // Waits for the running jobs and drops the others.
  void stop() EXCLUDES(mutex_);

 private:
  void run() EXCLUDES(mutex_);
  // Returns false if there is none, and the thread ends.
  bool take(Job& job) EXCLUDES(mutex_);

  const Failed failed_;
  Mutex mutex_;
  ConditionVariable wake_;
  std::deque<Job> jobs_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
  const std::size_t threads_max_;
  std::size_t idle_ GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_ GUARDED_BY(mutex_);
  std::vector<std::thread> ended_ GUARDED_BY(mutex_);  // to be joined
};

}  // namespace remotecl::server
