#pragma once

#include <cstddef>

#include "server/completion/cl.h"

namespace remotecl::server {

class Device;

// Host memory that the device accesses directly: a mapped buffer of its driver, with the native queue that
// maps it. Owned by one thread at a time; commands that use the memory must end before it is destroyed.
class PinnedBlock {
 public:
  PinnedBlock(Device& device, std::size_t size);
  ~PinnedBlock();
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;

  // Null if the driver could not provide it.
  std::byte* data() const { return data_; }
  // Null if the driver could not provide it.
  cl_command_queue queue() const { return queue_; }

 private:
  cl_command_queue queue_ = nullptr;
  cl_mem memory_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace remotecl::server
