#pragma once

#include <chrono>
#include <functional>
#include <map>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "server/program/program.h"
#include "server/util/session_lock.h"
#include "server/util/worker.h"

namespace remotecl::server {

// A message needs a native program that is not made yet. It is handled again after LateNatives::wait().
struct ProgramIsLate {
  Ref<Program> program;
};

// Makes native programs after their build was reported to the client. Owned by a session; any thread.
class LateNatives {
 public:
  // `make` gives the program a native program. It must not throw.
  void start(const Ref<Program>& program, std::function<void()> make) EXCLUDES(mutex_);
  // Waits for all that was started for this program.
  void wait(const Program& program) EXCLUDES(session_lock, mutex_);
  // The same for a while; returns false if that was not enough.
  bool wait_for(const Program& program, std::chrono::milliseconds time) EXCLUDES(session_lock, mutex_);
  // Waits for what runs and drops the rest.
  void stop() { worker_.stop(); }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  std::map<const Program*, unsigned> started_ GUARDED_BY(mutex_);
  Worker worker_;
};

}  // namespace remotecl::server
