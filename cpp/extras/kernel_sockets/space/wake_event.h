#pragma once

#include <atomic>

#include "runtime/base/ref_counted.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// Wakes a proxy thread. Shared by the thread and by those who have something for it; any thread.
class WakeEvent final : public RefCounted {
 public:
  // Throws std::system_error if the system has no descriptor.
  WakeEvent();

  // The descriptor becomes readable. Never blocks.
  void wake();
  // The same, only between falls_asleep() and is_awake().
  void wake_sleeper() {
    if (is_asleep_) wake();
  }

  // For the thread, which polls the descriptor.
  int descriptor() const { return event_.get(); }
  void falls_asleep() { is_asleep_ = true; }
  void is_awake();

 private:
  const Descriptor event_;
  std::atomic<bool> is_asleep_{false};
};

}  // namespace remotecl::server
