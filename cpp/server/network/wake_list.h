#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// Tells a proxy thread which of its sockets have something new, and wakes it if it sleeps. Shared by the proxy and by
// those who report; any thread.
class WakeList final : public RefCounted {
 public:
  // Throws std::system_error if the system has no descriptor.
  WakeList();

  void wake(std::uint64_t socket) EXCLUDES(mutex_);
  // Only wakes it.
  void wake();

  // For the proxy. The descriptor is readable when the thread is to wake.
  int descriptor() const { return event_.get(); }
  // Those that were named since the last call.
  std::vector<std::uint64_t> take() EXCLUDES(mutex_);
  bool is_empty() const { return !has_some_.load(); }
  // Between these, wake() makes the descriptor readable.
  void falls_asleep() { is_asleep_.store(true); }
  void is_awake();

 private:
  const Descriptor event_;
  std::atomic<bool> is_asleep_{false}, has_some_{false};
  Mutex mutex_;
  std::vector<std::uint64_t> sockets_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
