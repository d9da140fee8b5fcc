#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "runtime/base/mutex.h"

namespace remotecl {

// A thread that starts on first use, sleeps until it is woken, and ends when its owner stops it. It works on
// state of the owner that `mutex` guards:
//
//   MutexLock lock(thread_.mutex);
//   while (!thread_.is_stopping() && queue_.empty()) thread_.wait();
//
// Make it the owner's last member, so that it ends before what it uses is destroyed. Any thread may call it.
class StoppableThread {
 public:
  explicit StoppableThread(std::function<void()> run) : run_(std::move(run)) {}
  ~StoppableThread() { stop(); }
  StoppableThread(const StoppableThread&) = delete;
  StoppableThread& operator=(const StoppableThread&) = delete;

  // How long threads of idle sessions stay, because starting one takes longer than waking it.
  static constexpr std::chrono::seconds kIdleTime{10};

  // Starts the thread unless it runs or has been stopped. Throws std::system_error if the system has none.
  void start() REQUIRES(mutex);
  // Makes the thread check its condition again.
  void wake() { changed_.notify_all(); }
  // Sleeps until wake() or until it is to stop.
  void wait() REQUIRES(mutex) { changed_.wait(mutex); }
  // Returns false if the time has passed.
  bool wait_until(std::chrono::steady_clock::time_point time) REQUIRES(mutex) {
    return changed_.wait_until(mutex, time) == std::cv_status::no_timeout;
  }

  // Sleeps like wait(). Returns false if nobody has called wake() for kIdleTime: a thread that still has nothing to do
  // then calls has_ended() and returns, and its memory is free.
  bool rest() REQUIRES(mutex) { return wait_until(std::chrono::steady_clock::now() + kIdleTime); }
  // Called by the thread, which uses nothing that `mutex` guards afterwards: start() starts another one.
  void has_ended() REQUIRES(mutex) { has_ended_ = true; }

  bool is_stopping() const REQUIRES(mutex) { return is_stopping_; }
  // Asks the thread to end without waiting for it.
  void request_stop() EXCLUDES(mutex);
  // Also waits until it has ended. Not on the thread itself.
  void stop() EXCLUDES(mutex);

  mutable Mutex mutex;

 private:
  const std::function<void()> run_;
  ConditionVariable changed_;
  bool is_stopping_ GUARDED_BY(mutex) = false;
  bool has_ended_ GUARDED_BY(mutex) = false;
  std::thread thread_ GUARDED_BY(mutex);
};

}  // namespace remotecl
