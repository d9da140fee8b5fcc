#pragma once

#include <sys/types.h>

#include "runtime/containment/system_call_filter.h"

namespace remotecl {

// A process that reports the system calls that a filter refuses to another one, which has started it. It has been
// started before the filter was, and reads nothing of the other process but the numbers of its calls and threads. It
// ends with it. It lets the other process place its own threads on processors.
class CallWatcher {
 public:
  // `goes_on`: calls are executed after they were reported; otherwise they fail with EPERM. Not valid() if there can
  // be no process.
  CallWatcher(bool goes_on, const CallReport& report);
  // Without watch(), the watcher ends.
  ~CallWatcher();
  CallWatcher(const CallWatcher&) = delete;
  CallWatcher& operator=(const CallWatcher&) = delete;

  bool valid() const { return socket_ >= 0; }
  // Takes the descriptor from which the kernel's questions are read.
  void watch(int listener);

 private:
  int socket_ = -1;
};

}  // namespace remotecl
