#pragma once

#include <cstddef>
#include <cstdint>

#include "server/completion/cl.h"

namespace remotecl::server {

// Buffers over memory of this process, where kernels of a CPU device read and write it in place.
class HostMemory {
 public:
  // A buffer over new memory, which lies at `data` and lives as long as the driver has the buffer.
  static cl_mem make_buffer(cl_context context, cl_mem_flags flags, std::uint64_t size, std::byte*& data,
                            cl_int& error);
  // Whether what a kernel's side writes shows in such a buffer's memory, and the other way round, without a mapping:
  // tried with a buffer of a few bytes. A driver may also keep a copy.
  static bool works_on(cl_context context, cl_device_id device);
};

}  // namespace remotecl::server
