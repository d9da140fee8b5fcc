#pragma once

#include <cstddef>
#include <cstdint>

#include "server/completion/native.h"
#include "server/driver/open_mappings.h"

namespace remotecl::server {

// A mapped range of a buffer; the destructor unmaps it. Used by one thread at a time; a buffer may have any
// number.
class Mapping {
 public:
  Mapping() = default;
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  // Does not block; data() may be used once `mapped` has ended. `all`: the mappings of the queue's device.
  cl_int map(const Ref<OpenMappings>& all, cl_command_queue queue, cl_mem memory, cl_map_flags flags,
             std::uint64_t offset, std::uint64_t size, cl_uint wait_count, const cl_event* waits, cl_event* mapped);
  cl_int unmap(cl_event* unmapped);
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  Ref<OpenMappings> all_;
  cl_command_queue queue_ = nullptr;  // retained
  cl_mem memory_ = nullptr;           // retained
  Native<cl_event> mapped_;
  void* data_ = nullptr;
};

}  // namespace remotecl::server
