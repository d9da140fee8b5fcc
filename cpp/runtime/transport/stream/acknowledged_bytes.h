#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/mutex.h"

namespace remotecl {

// How many bytes of a stream the other side has acknowledged. Whoever lent acknowledged bytes may free their memory at
// once, so nobody copies them any more. Any thread.
class AcknowledgedBytes {
 public:
  std::uint64_t count() const { return count_.load(); }
  // First waits for what is being copied.
  void raise_to(std::uint64_t count) EXCLUDES(copying_) {
    const MutexLock lock(copying_);
    if (count > count_.load()) count_.store(count);
  }
  // Calls `copy` unless everything before `end` has been acknowledged.
  template <class Copy>
  void unless_reached(std::uint64_t end, Copy&& copy) EXCLUDES(copying_) {
    const MutexLock lock(copying_);
    if (count_.load() < end) copy();
  }

 private:
  std::atomic<std::uint64_t> count_{0};
  Mutex copying_;
};

}  // namespace remotecl
