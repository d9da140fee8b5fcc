#pragma once

#include <cstddef>
#include <memory>

#include "runtime/base/mutex.h"

namespace remotecl::server {

class Device;

// Host memory for the results of small reads, which the device accesses directly. For a read into other
// memory, NVIDIA's driver uses a thread of its own, which takes twice as long, and occasionally a hundred
// times as long. Allocated when first needed. Owned by a device; any thread.
class PinnedMemory {
 public:
  explicit PinnedMemory(Device& device) : device_(device) {}
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  // Returns `size` bytes (at most kInlineDataMax) that may outlive the device. They are ordinary memory if no
  // slot is free, if another thread is allocating the slots, or if device memory is host memory.
  std::shared_ptr<std::byte[]> take(std::size_t size) EXCLUDES(mutex_);
  // Releases the memory to the driver, once nothing uses it.
  void close() EXCLUDES(mutex_);

 private:
  class Slots;

  // Null if another thread allocates them now.
  std::shared_ptr<Slots> slots() EXCLUDES(mutex_);

  Device& device_;
  Mutex mutex_;
  bool is_asked_for_ GUARDED_BY(mutex_) = false;
  std::shared_ptr<Slots> slots_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
