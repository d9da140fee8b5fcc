#include "extras/kernel_sockets/space/space_memory.h"

#include <cstring>

#include "server/driver/device.h"
#include "server/driver/host_memory.h"

namespace remotecl::server {
namespace {

// cl_nv_create_buffer, which the headers of Khronos do not have.
using CreateBufferNv = cl_mem(CL_API_CALL*)(cl_context context, cl_mem_flags flags, cl_bitfield flags_nv,
                                            std::size_t size, void* host_ptr, cl_int* error);
constexpr cl_bitfield kLocationHostNv = 1;

CreateBufferNv create_buffer_nv(const Device& device) {
  if (device.traits().is_processor) return nullptr;
  return device.extension<CreateBufferNv>("clCreateBufferNV");
}

}  // namespace

bool SpaceMemory::works_on(Device& device) {
  cl_int error = CL_SUCCESS;
  if (device.context(error) == nullptr) return false;
  return device.memory().uses_host_memory() || create_buffer_nv(device) != nullptr;
}

std::unique_ptr<SpaceMemory> SpaceMemory::make(Device& device, std::uint64_t size, cl_int& error) {
  error = CL_SUCCESS;
  const cl_context context = device.context(error);
  if (context == nullptr) return nullptr;
  std::unique_ptr<SpaceMemory> memory(new SpaceMemory);
  if (device.memory().uses_host_memory()) {
    memory->buffer_ = HostMemory::make_buffer(context, CL_MEM_READ_WRITE, size, memory->data_, error);
  } else if (const CreateBufferNv create = create_buffer_nv(device)) {
    memory->buffer_ = create(context, CL_MEM_READ_WRITE, kLocationHostNv, size, nullptr, &error);
    if (error == CL_SUCCESS) error = memory->map(device, context, size);
  } else {
    error = CL_INVALID_OPERATION;
  }
  if (error != CL_SUCCESS) return nullptr;
  std::memset(memory->data_, 0, size);
  return memory;
}

// The mapping stays: kernels run meanwhile, which OpenCL leaves undefined and this driver allows.
cl_int SpaceMemory::map(Device& device, cl_context context, std::uint64_t size) {
  cl_int error = CL_SUCCESS;
  queue_ = clCreateCommandQueue(context, device.id(), 0, &error);
  if (error != CL_SUCCESS) {
    queue_ = nullptr;
    return error;
  }
  data_ = static_cast<std::byte*>(
      clEnqueueMapBuffer(queue_, buffer_, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, nullptr, nullptr, &error));
  return error;
}

SpaceMemory::~SpaceMemory() {
  if (queue_ != nullptr && data_ != nullptr) clEnqueueUnmapMemObject(queue_, buffer_, data_, 0, nullptr, nullptr);
  if (buffer_ != nullptr) clReleaseMemObject(buffer_);
  if (queue_ == nullptr) return;
  clFinish(queue_);
  clReleaseCommandQueue(queue_);
}

}  // namespace remotecl::server
