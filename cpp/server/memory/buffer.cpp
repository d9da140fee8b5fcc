#include "server/memory/buffer.h"

#include <limits>

#include "server/driver/host_memory.h"

namespace remotecl::server {

Buffer::Buffer(std::uint64_t flags, std::uint64_t size, Ref<SessionCounters> counters)
    : Memory(nullptr, std::move(counters)), flags_(flags & kDeviceFlags), size_(size) {}

Buffer::Buffer(const Ref<Buffer>& parent, std::uint64_t flags, std::uint64_t offset, std::uint64_t size)
    : Memory(Ref<Memory>(parent.get()), nullptr, parent->shared_svm()),
      flags_(flags & kDeviceFlags),
      offset_(offset),
      svm_offset_(parent->svm_offset_ + offset),
      size_(size) {}

Buffer::Buffer(Ref<SvmMemory> svm, std::uint64_t flags, std::uint64_t size, Ref<SessionCounters> counters)
    : Memory(nullptr, std::move(counters), std::move(svm)), flags_(flags & kDeviceFlags), size_(size) {}

Ref<Buffer> Buffer::copied(const Device& device, std::uint64_t& offset) {
  if (parent() == nullptr || !device.traits().quirks.crashes_copying_parts) return Ref<Buffer>(this);
  offset += offset_;
  return Ref<Buffer>(static_cast<Buffer*>(parent()));
}

cl_int Buffer::make(Device& device, Native& native) {
  cl_int error = CL_SUCCESS;
  if (size_ > std::numeric_limits<std::size_t>::max() / 2) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  const cl_context context = device.context(error);
  if (context == nullptr) return error;
  // A part of shared virtual memory, too, is a buffer over its address: it may begin anywhere, and drivers make images
  // of it.
  if (svm() != nullptr && svm()->usable_on(device)) {
    std::byte* const data = svm()->data() + svm_offset_;
    native.memory = clCreateBuffer(context, flags_ | CL_MEM_USE_HOST_PTR, size_, data, &error);
    if (device.memory().uses_host_memory()) native.host_memory = data;
    return error;
  }
  if (parent() != nullptr) {
    cl_mem whole = nullptr;
    error = parent()->native(device, whole);
    if (error != CL_SUCCESS) return error;
    const cl_buffer_region region{offset_, size_};
    if (std::byte* const data = parent()->host_memory(device)) native.host_memory = data + offset_;
    native.memory = clCreateSubBuffer(whole, flags_, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    return error;
  }
  if (!reserve(device, size_, native)) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  if (device.memory().uses_host_memory()) {
    native.memory = HostMemory::make_buffer(context, flags_, size_, native.host_memory, error);
  } else {
    native.memory = clCreateBuffer(context, flags_, size_, nullptr, &error);
  }
  // No command may fail with "invalid buffer size", so this counts as a failed allocation.
  return error == CL_INVALID_BUFFER_SIZE ? CL_MEM_OBJECT_ALLOCATION_FAILURE : error;
}

}  // namespace remotecl::server
