#include "server/driver/mapping.h"

#include <utility>

namespace remotecl::server {

Mapping::~Mapping() {
  unmap(nullptr);
  mapped_.reset();
  if (memory_ != nullptr) clReleaseMemObject(memory_);
  if (queue_ != nullptr) clReleaseCommandQueue(queue_);
}

cl_int Mapping::map(const Ref<OpenMappings>& all, cl_command_queue queue, cl_mem memory, cl_map_flags flags,
                    std::uint64_t offset, std::uint64_t size, cl_uint wait_count, const cl_event* waits,
                    cl_event* mapped) {
  cl_int error = CL_SUCCESS;
  data_ = all->map(queue, memory, flags, offset, size, wait_count, waits, mapped, error);
  if (error != CL_SUCCESS) return error;
  clRetainCommandQueue(queue);
  clRetainMemObject(memory);
  all_ = all;
  queue_ = queue;
  memory_ = memory;
  mapped_ = Native<cl_event>::retained(*mapped);
  return CL_SUCCESS;
}

cl_int Mapping::unmap(cl_event* unmapped) {
  if (data_ == nullptr) return CL_SUCCESS;
  return all_->unmap(queue_, {memory_, std::exchange(data_, nullptr)}, mapped_.get(), unmapped);
}

}  // namespace remotecl::server
