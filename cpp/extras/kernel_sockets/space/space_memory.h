#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "server/completion/cl.h"

namespace remotecl::server {

class Device;

// Memory that a running kernel and this process both see, without any command in between: host memory that a CPU device
// uses in place, or what NVIDIA's cl_nv_create_buffer allocates on the host. Owned by the network.
class SpaceMemory {
 public:
  // Whether the device has such memory. Makes the device's context.
  static bool works_on(Device& device);
  // Null and `error` if the driver refuses. The memory is all zero.
  static std::unique_ptr<SpaceMemory> make(Device& device, std::uint64_t size, cl_int& error);
  ~SpaceMemory();
  SpaceMemory(const SpaceMemory&) = delete;
  SpaceMemory& operator=(const SpaceMemory&) = delete;

  cl_mem buffer() const { return buffer_; }
  std::byte* data() const { return data_; }

 private:
  SpaceMemory() = default;
  cl_int map(Device& device, cl_context context, std::uint64_t size);

  cl_mem buffer_ = nullptr;
  std::byte* data_ = nullptr;
  cl_command_queue queue_ = nullptr;  // of the mapping; null without one
};

}  // namespace remotecl::server
