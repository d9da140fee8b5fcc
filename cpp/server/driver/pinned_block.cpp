#include "server/driver/pinned_block.h"

#include "server/driver/device.h"

namespace remotecl::server {

PinnedBlock::PinnedBlock(Device& device, std::size_t size) {
  cl_int error = CL_SUCCESS;
  const cl_context context = device.context(error);
  if (context != nullptr) queue_ = clCreateCommandQueue(context, device.id(), 0, &error);
  if (error != CL_SUCCESS) queue_ = nullptr;
  if (queue_ == nullptr) return;
  memory_ = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, nullptr, &error);
  if (error != CL_SUCCESS) memory_ = nullptr;
  if (memory_ == nullptr) return;
  void* const data =
      clEnqueueMapBuffer(queue_, memory_, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, nullptr, nullptr, &error);
  if (error == CL_SUCCESS) data_ = static_cast<std::byte*>(data);
}

PinnedBlock::~PinnedBlock() {
  if (data_ != nullptr) clEnqueueUnmapMemObject(queue_, memory_, data_, 0, nullptr, nullptr);
  if (memory_ != nullptr) clReleaseMemObject(memory_);
  if (queue_ != nullptr) {
    clFinish(queue_);
    clReleaseCommandQueue(queue_);
  }
}

}  // namespace remotecl::server
