#pragma once

#include <CL/cl.h>

#include <chrono>
#include <map>
#include <thread>

#include "icd/opencl.h"
#include "runtime/base/mutex.h"

namespace remotecl::testing {

// Gives user events their status a little later, on a thread of its own, so that nobody who waits for them waits for
// ever. The destructor sets the rest. Any thread.
class UserEvents {
 public:
  UserEvents() = default;
  ~UserEvents();
  UserEvents(const UserEvents&) = delete;
  UserEvents& operator=(const UserEvents&) = delete;

  void set_later(cl_event event, cl_int status, std::chrono::microseconds delay) EXCLUDES(mutex_);

 private:
  using Clock = std::chrono::steady_clock;
  struct Due {
    Owned<cl_event> event;
    cl_int status;
  };

  void run() EXCLUDES(mutex_);

  Mutex mutex_;
  ConditionVariable changed_;
  std::multimap<Clock::time_point, Due> due_ GUARDED_BY(mutex_);
  bool is_over_ GUARDED_BY(mutex_) = false;
  std::thread thread_{[this] { run(); }};
};

}  // namespace remotecl::testing
