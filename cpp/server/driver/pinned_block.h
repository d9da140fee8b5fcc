#pragma once

#include <cstddef>

#include "server/completion/cl.h"

namespace remotecl::server {

class Device;

// Host memory that a device reaches itself: a mapped buffer of its driver's, with a native queue to map it by. Owned by
// one thread at a time; commands that use the memory have ended before it goes.
class PinnedBlock {
 public:
  PinnedBlock(Device& device, std::size_t size);
  ~PinnedBlock();
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;

  // Null when the driver has none.
  std::byte* data() const { return data_; }
  // Null when the driver has none.
  cl_command_queue queue() const { return queue_; }

 private:
  const cl_device_id device_;
  cl_command_queue queue_ = nullptr;
  cl_mem memory_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace remotecl::server
