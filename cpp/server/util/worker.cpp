#include "server/util/worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/stoppable_thread.h"

namespace remotecl::server {

void Worker::post(Job job) {
  MutexLock lock(mutex_);
  if (stopped_) return;
  for (std::thread& thread : ended_) thread.join();
  ended_.clear();
  threads_.reserve(threads_max_);
  ended_.reserve(threads_max_);
  jobs_.push_back(std::move(job));
  if (jobs_.size() > idle_ && threads_.size() < threads_max_) {
    try {
      threads_.emplace_back([this] { run(); });
    } catch (const std::exception&) {
      if (threads_.empty()) {
        jobs_.pop_back();
        throw;
      }
    }
  }
  wake_.notify_one();
}

void Worker::stop() {
  std::vector<std::thread> threads, ended;
  MutexLock lock(mutex_);
  stopped_ = true;
  threads.swap(threads_);
  ended.swap(ended_);
  wake_.notify_all();
  while (!jobs_.empty()) {
    Job dropped = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    dropped = nullptr;  // it may own an object that posts when it is destroyed
    lock.lock();
  }
  lock.unlock();
  for (auto& thread : threads) thread.join();
  for (auto& thread : ended) thread.join();
}

void Worker::run() {
  for (Job job; take(job); job = {}) {
    try {
      job();
    } catch (const std::exception& error) {
      failed_(error);
    }
  }
}

bool Worker::take(Job& job) {
  MutexLock lock(mutex_);
  ++idle_;
  while (jobs_.empty() && !stopped_) {
    const auto end = std::chrono::steady_clock::now() + StoppableThread::kIdleTime;
    if (wake_.wait_until(mutex_, end) == std::cv_status::no_timeout || !jobs_.empty() || stopped_) continue;
    --idle_;
    const auto self = std::find_if(threads_.begin(), threads_.end(), [](const std::thread& thread) {
      return thread.get_id() == std::this_thread::get_id();
    });
    ended_.push_back(std::move(*self));
    threads_.erase(self);
    return false;
  }
  --idle_;
  if (stopped_) return false;
  job = std::move(jobs_.front());
  jobs_.pop_front();
  return true;
}

}  // namespace remotecl::server
