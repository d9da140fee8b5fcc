#pragma once

#include <deque>
#include <memory>
#include <thread>

#include "runtime/base/mutex.h"
#include "server/isolation/child_process.h"

namespace remotecl::server {

// Keeps a process ready that has opened its driver, so that no session need wait for that. Owned by the warden, and
// outlives all processes that were taken: they end with the thread that has started them. Any thread.
class SpareProcesses {
 public:
  explicit SpareProcesses(ProcessCommand command);
  ~SpareProcesses();
  SpareProcesses(const SpareProcesses&) = delete;
  SpareProcesses& operator=(const SpareProcesses&) = delete;

  // One that is ready; another one is started in its place. Null when none is before the deadline.
  std::unique_ptr<ChildProcess> take(Deadline deadline) EXCLUDES(mutex_);
  // There are none from now on.
  void stop() EXCLUDES(mutex_);

 private:
  static constexpr int kTries = 2;  // one may have ended while nobody wanted it

  void run() EXCLUDES(mutex_);
  // In the order in which they were started.
  std::unique_ptr<ChildProcess> next(Deadline deadline) EXCLUDES(mutex_);

  void tell_failures(std::string_view failures) EXCLUDES(mutex_);

  const ProcessCommand command_;
  Mutex mutex_;
  ConditionVariable changed_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  bool ended_ GUARDED_BY(mutex_) = false;
  bool has_told_ GUARDED_BY(mutex_) = false;
  std::size_t waiting_ GUARDED_BY(mutex_) = 0;  // who wants one
  std::deque<std::unique_ptr<ChildProcess>> spares_ GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace remotecl::server
