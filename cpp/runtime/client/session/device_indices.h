#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

// The indices of a session's devices. Low ones are used first, because the server keeps lists as long as the
// highest index. Any thread.
class DeviceIndices {
 public:
  // The first `count` indices belong to the server's own devices.
  void reserve(std::uint32_t count) {
    const MutexLock lock(mutex_);
    used_.assign(count, true);
  }
  // Returns `count` indices, or none if fewer are free.
  std::vector<std::uint32_t> take(std::uint32_t count) {
    const MutexLock lock(mutex_);
    std::vector<std::uint32_t> taken;
    for (std::uint32_t index = 0; taken.size() < count && index < kDeviceIndexMax; ++index) {
      if (index == used_.size()) used_.push_back(false);
      if (!used_[index]) taken.push_back(index);
    }
    if (taken.size() < count) taken.clear();
    for (const std::uint32_t index : taken) used_[index] = true;
    return taken;
  }
  void give_back(std::uint32_t index) {
    const MutexLock lock(mutex_);
    used_[index] = false;
  }

 private:
  Mutex mutex_;
  std::vector<bool> used_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
