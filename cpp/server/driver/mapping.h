#pragma once

#include <cstddef>
#include <cstdint>

#include "server/completion/cl.h"

namespace remotecl::server {

// Memory of a buffer that the driver has mapped. Unmaps at the end of its life. Used by one thread at a time; any
// number may be open on a buffer.
class Mapping {
 public:
  Mapping() = default;
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  // Non-blocking; `mapped` ends when data() may be used.
  cl_int map(cl_command_queue queue, cl_mem memory, cl_map_flags flags, std::uint64_t offset, std::uint64_t size,
             cl_uint wait_count, const cl_event* waits, cl_event* mapped);
  cl_int unmap(cl_event* unmapped);
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  cl_command_queue queue_ = nullptr;  // retained
  cl_mem memory_ = nullptr;           // retained
  cl_event mapped_ = nullptr;         // retained
  void* data_ = nullptr;
};

}  // namespace remotecl::server
