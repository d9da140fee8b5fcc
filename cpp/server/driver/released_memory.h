#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/base/mutex.h"
#include "server/completion/cl.h"
#include "server/driver/device_load.h"

namespace remotecl::server {

// Memory objects that their owners no longer need, for a driver whose clReleaseMemObject waits until no kernel runs on
// the device, and blocks the calls of other threads meanwhile. They are released when the device is idle, when their
// memory is needed, or when they hold too much of it. Owned by the device; any thread.
class ReleasedMemory {
 public:
  // `bytes_max`: what may be kept; 0 for a driver that releases without waiting.
  ReleasedMemory(const DeviceLoad& load, std::uint64_t bytes_max) : load_(load), bytes_max_(bytes_max) {}
  ~ReleasedMemory() { release_all(); }
  ReleasedMemory(const ReleasedMemory&) = delete;
  ReleasedMemory& operator=(const ReleasedMemory&) = delete;

  // Takes over the owner's reference. `released` is called when the driver has the memory back. With `bytes` of 0 the
  // object has no memory of its own, and is not kept.
  void add(cl_mem memory, std::uint64_t bytes, std::function<void()> released) EXCLUDES(mutex_);
  // Called when a queue is gone, because nobody may release or create an object after its last command, and now and
  // then while somebody looks at the device's load.
  void release_if_idle() EXCLUDES(mutex_);
  // Releases all that are kept, whatever that waits for. Returns false if there are none.
  bool release_all() EXCLUDES(mutex_);

 private:
  struct Object {
    cl_mem memory;
    std::function<void()> released;
  };

  const DeviceLoad& load_;
  const std::uint64_t bytes_max_;
  Mutex mutex_;
  std::vector<Object> objects_ GUARDED_BY(mutex_);
  std::uint64_t bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace remotecl::server
