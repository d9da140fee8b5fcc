#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/base/mutex.h"

namespace remotecl::server {

// Runs what it is given, on one thread in order, or on up to `threads_max` threads as soon as one is free.
// Threads are made when they are needed first. Owned by a session. post() may be called by any thread, also
// from a driver's callback; stop() by the owner, once.
class Worker {
 public:
  using Job = std::function<void()>;

  explicit Worker(std::size_t threads_max = 1) : threads_max_(threads_max) {}
  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Dropped after stop(). Throws std::system_error when not even one thread can be made.
  void post(Job job) EXCLUDES(mutex_);
  // Waits for the running jobs, drops the others.
  void stop() EXCLUDES(mutex_);

 private:
  void run() EXCLUDES(mutex_);

  Mutex mutex_;
  ConditionVariable wake_;
  std::deque<Job> jobs_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
  const std::size_t threads_max_;
  std::size_t idle_ GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
