#include "server/buffer.h"

#include <limits>

namespace remotecl::server {

Buffer::Buffer(std::uint64_t flags, std::uint64_t size) : Memory(nullptr), flags_(flags & kDeviceFlags), size_(size) {}

Buffer::Buffer(const Ref<Buffer>& parent, std::uint64_t flags, std::uint64_t offset, std::uint64_t size)
    : Memory(Ref<Memory>(parent.get())), flags_(flags & kDeviceFlags), offset_(offset), size_(size) {}

cl_int Buffer::make(Device& device, cl_mem& memory) {
  cl_int error = CL_SUCCESS;
  if (size_ > std::numeric_limits<std::size_t>::max() / 2) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  if (parent() != nullptr) {
    cl_mem whole = nullptr;
    error = parent()->native(device, whole);
    if (error != CL_SUCCESS) return error;
    const cl_buffer_region region{offset_, size_};
    memory = clCreateSubBuffer(whole, flags_, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    return error;
  }
  const cl_context context = device.context(error);
  if (context == nullptr) return error;
  memory = clCreateBuffer(context, flags_, size_, nullptr, &error);
  // No command answers "invalid buffer size" natively; that a buffer cannot be had is this.
  return error == CL_INVALID_BUFFER_SIZE ? CL_MEM_OBJECT_ALLOCATION_FAILURE : error;
}

}  // namespace remotecl::server
