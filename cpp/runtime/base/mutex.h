#pragma once

#include <condition_variable>
#include <mutex>

#include "runtime/base/thread_annotations.h"

namespace remotecl {

// std::mutex with the attributes that let clang check who holds it.
class REMOTECL_TSA(capability("mutex")) Mutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }
  bool try_lock() TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
};

class REMOTECL_TSA(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

using ConditionVariable = std::condition_variable_any;

}  // namespace remotecl
