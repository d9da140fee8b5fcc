#pragma once

#include <cstddef>
#include <memory>

#include "runtime/base/mutex.h"

namespace remotecl::server {

class Device;

// Host memory for what small reads bring, which the device reaches itself: into other memory NVIDIA's driver reads with
// a thread of its own, in twice the time, now and then in a hundred times. Made when it is first needed. Owned by a
// device; any thread.
class PinnedMemory {
 public:
  explicit PinnedMemory(Device& device) : device_(device) {}
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  // `size` bytes, at most kInlineDataMax, which may outlive the device. Other memory when all of this is in use, or
  // where the device's memory is the host's.
  std::shared_ptr<std::byte[]> take(std::size_t size) EXCLUDES(mutex_);
  // Goes back to the driver with the last bytes in use.
  void close() EXCLUDES(mutex_);

 private:
  class Slots;

  Device& device_;
  Mutex mutex_;
  std::shared_ptr<Slots> slots_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
