#include "icd/user_events.h"

#include <gtest/gtest.h>

#include <utility>

namespace remotecl::testing {

UserEvents::~UserEvents() {
  {
    MutexLock lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void UserEvents::set_later(cl_event event, cl_int status, std::chrono::microseconds delay) {
  check(clRetainEvent(event));
  MutexLock lock(mutex_);
  due_.emplace(Clock::now() + delay, Due{Owned<cl_event>(event), status});
  changed_.notify_all();
}

void UserEvents::run() {
  MutexLock lock(mutex_);
  while (!is_over_ || !due_.empty()) {
    if (due_.empty()) {
      changed_.wait(mutex_);
      continue;
    }
    const auto first = due_.begin();
    if (!is_over_ && first->first > Clock::now()) {
      changed_.wait_until(mutex_, first->first);
      continue;
    }
    const Due due = std::move(first->second);
    due_.erase(first);
    lock.unlock();
    EXPECT_EQ(clSetUserEventStatus(due.event, due.status), CL_SUCCESS);
    lock.lock();
  }
}

}  // namespace remotecl::testing
