#include "server/util/worker.h"

#include <system_error>
#include <utility>

namespace remotecl::server {

void Worker::post(Job job) {
  MutexLock lock(mutex_);
  if (stopped_) return;
  jobs_.push_back(std::move(job));
  if (jobs_.size() > idle_ && threads_.size() < threads_max_) {
    try {
      threads_.emplace_back([this] { run(); });
    } catch (const std::system_error&) {
      if (threads_.empty()) {
        jobs_.pop_back();
        throw;
      }
    }
  }
  wake_.notify_one();
}

void Worker::stop() {
  std::vector<std::thread> threads;
  std::deque<Job> dropped;  // destroyed after unlocking: a job may own an object that posts when it is destroyed
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    dropped.swap(jobs_);
    threads.swap(threads_);
    wake_.notify_all();
  }
  for (auto& thread : threads) thread.join();
}

void Worker::run() {
  for (;;) {
    Job job;
    {
      MutexLock lock(mutex_);
      ++idle_;
      while (jobs_.empty() && !stopped_) wake_.wait(mutex_);
      --idle_;
      if (stopped_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace remotecl::server
