#pragma once

#include <condition_variable>
#include <mutex>

#include "runtime/base/thread_annotations.h"

namespace remotecl {

// std::mutex with the attributes by which clang checks locking.
class REMOTECL_TSA(capability("mutex")) Mutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }
  bool try_lock() TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  // Tells clang that the caller holds the mutex, where clang cannot see that: in a callback, or where the mutex has two
  // names. Checks nothing.
  void assume_held() ASSERT_CAPABILITY(this) {}

 private:
  std::mutex mutex_;
};

struct AdoptLock {};

// Holds a mutex until it is destroyed, or until unlock().
class REMOTECL_TSA(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  // For a mutex that the caller has locked with try_lock().
  MutexLock(Mutex& mutex, AdoptLock) REQUIRES(mutex) : mutex_(mutex) {}
  ~MutexLock() RELEASE() {
    if (is_held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() RELEASE() {
    is_held_ = false;
    mutex_.unlock();
  }
  void lock() ACQUIRE() {
    mutex_.lock();
    is_held_ = true;
  }

 private:
  Mutex& mutex_;
  bool is_held_ = true;
};

using ConditionVariable = std::condition_variable_any;

}  // namespace remotecl
