#include "server/buffer.h"

#include <limits>
#include <utility>

namespace remotecl::server {
namespace {

// Flags about host memory and host access are the client's business: it reads and writes through us in any
// case.
constexpr std::uint64_t kDeviceFlags = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;

}  // namespace

Buffer::Buffer(std::uint64_t flags, std::uint64_t size) : flags_(flags & kDeviceFlags), size_(size) {}

Buffer::Buffer(Ref<Buffer> parent, std::uint64_t flags, std::uint64_t offset, std::uint64_t size)
    : parent_(std::move(parent)), flags_(flags & kDeviceFlags), offset_(offset), size_(size) {}

Buffer::Buffer(Ref<SvmMemory> svm, std::uint64_t flags, std::uint64_t size)
    : svm_(std::move(svm)), flags_(flags & kDeviceFlags), size_(size) {}

Buffer::~Buffer() {
  for (const Native& native : native_) {
    if (native.memory == nullptr) continue;
    clReleaseMemObject(native.memory);
    native.device->give_back(native.reserved);
  }
}

cl_int Buffer::native(Device& device, cl_mem& memory) {
  if (device.index() < native_.size() && native_[device.index()].memory != nullptr) {
    memory = native_[device.index()].memory;
    return CL_SUCCESS;
  }
  Native native{&device};
  const cl_int error = make(device, native);
  if (error != CL_SUCCESS) return error;
  if (native_.size() <= device.index()) native_.resize(device.index() + 1);
  native_[device.index()] = native;
  memory = native.memory;
  return CL_SUCCESS;
}

cl_int Buffer::make(Device& device, Native& native) {
  cl_int error = CL_SUCCESS;
  if (size_ > std::numeric_limits<std::size_t>::max() / 2) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  if (parent_) {
    cl_mem parent = nullptr;
    error = parent_->native(device, parent);
    if (error != CL_SUCCESS) return error;
    const cl_buffer_region region{offset_, size_};
    native.memory = clCreateSubBuffer(parent, flags_, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    // A buffer over shared virtual memory may begin anywhere in it.
    if (error != CL_MISALIGNED_SUB_BUFFER_OFFSET || svm() == nullptr) return error;
  }
  const cl_context context = device.context(error);
  if (context == nullptr) return error;
  if (svm() != nullptr && svm()->usable_on(device)) {
    native.memory = clCreateBuffer(context, flags_ | CL_MEM_USE_HOST_PTR, size_, svm()->data() + offset_, &error);
    return error;
  }
  if (parent_) return CL_MISALIGNED_SUB_BUFFER_OFFSET;
  if (!device.reserve(size_)) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  native.memory = clCreateBuffer(context, flags_, size_, nullptr, &error);
  native.reserved = size_;
  if (error != CL_SUCCESS) device.give_back(size_);
  // No command answers "invalid buffer size" natively; that a buffer cannot be had is this.
  return error == CL_INVALID_BUFFER_SIZE ? CL_MEM_OBJECT_ALLOCATION_FAILURE : error;
}

}  // namespace remotecl::server
