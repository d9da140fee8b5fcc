#include "server/memory.h"

namespace remotecl::server {

Memory::~Memory() {
  for (const Native& native : native_) {
    if (native.memory == nullptr) continue;
    clReleaseMemObject(native.memory);
    native.device->give_back(native.reserved);
    if (counters_) counters_->freed(native.device->root().index(), native.reserved);
  }
}

cl_int Memory::native(Device& device, cl_mem& memory) {
  if (device.index() < native_.size() && native_[device.index()].memory != nullptr) {
    memory = native_[device.index()].memory;
    return CL_SUCCESS;
  }
  Native native{&device};
  const cl_int error = make(device, native);
  if (error != CL_SUCCESS) {
    device.give_back(native.reserved);
    return error;
  }
  if (native_.size() <= device.index()) native_.resize(device.index() + 1);
  native_[device.index()] = native;
  if (counters_) counters_->allocated(device.root().index(), native.reserved);
  memory = native.memory;
  return CL_SUCCESS;
}

std::byte* Memory::host_memory(Device& device) {
  cl_mem memory = nullptr;
  return native(device, memory) == CL_SUCCESS ? native_[device.index()].host_memory : nullptr;
}

}  // namespace remotecl::server
