#pragma once

#include <cstddef>
#include <cstdint>

#include "server/completion/cl.h"

namespace remotecl::server {

// Buffers over memory of this process that kernels of a CPU device read and write in place.
class HostMemory {
 public:
  // Creates a buffer over new memory at `data`, which lives as long as the driver keeps the buffer.
  static cl_mem make_buffer(cl_context context, cl_mem_flags flags, std::uint64_t size, std::byte*& data,
                            cl_int& error);
  // Whether host and kernels see each other's writes to such a buffer without a mapping. A driver may keep a
  // copy instead, so this tries it with a buffer of a few bytes.
  static bool works_on(cl_context context, cl_device_id device);
};

}  // namespace remotecl::server
