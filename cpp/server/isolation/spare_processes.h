#pragma once

#include <deque>
#include <memory>
#include <thread>

#include "runtime/base/mutex.h"
#include "server/isolation/child_process.h"

namespace remotecl::server {

// Keeps a process ready that has opened its driver, so that sessions need not wait for that. Owned by
// ProcessHost. Must outlive all processes that were taken, because they end with the thread that started
// them. Any thread.
class SpareProcesses {
 public:
  explicit SpareProcesses(ProcessCommand command);
  ~SpareProcesses();
  SpareProcesses(const SpareProcesses&) = delete;
  SpareProcesses& operator=(const SpareProcesses&) = delete;

  // Returns a ready process, and starts another one in its place. Returns null if none is ready before the
  // deadline.
  std::unique_ptr<ChildProcess> take(Deadline deadline) EXCLUDES(mutex_);
  // Ends the spare processes and starts no more.
  void stop() EXCLUDES(mutex_);

 private:
  static constexpr int kTries = 2;  // a spare process may have ended unnoticed

  void run() EXCLUDES(mutex_);
  // Takes them in the order in which they were started.
  std::unique_ptr<ChildProcess> next(Deadline deadline) EXCLUDES(mutex_);

  void report_failures(std::string_view failures) EXCLUDES(mutex_);

  const ProcessCommand command_;
  Mutex mutex_;
  ConditionVariable changed_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  bool ended_ GUARDED_BY(mutex_) = false;
  bool has_reported_ GUARDED_BY(mutex_) = false;
  std::size_t waiting_ GUARDED_BY(mutex_) = 0;  // callers that wait for one
  std::deque<std::unique_ptr<ChildProcess>> spares_ GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace remotecl::server
