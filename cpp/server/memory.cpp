#include "server/memory.h"

namespace remotecl::server {

Memory::~Memory() {
  for (const Native& native : native_) {
    clReleaseMemObject(native.memory);
    native.device->give_back(native.reserved);
    if (counters_) counters_->freed(native.device->root().index(), native.reserved);
  }
}

const Memory::Native* Memory::find(const Device& device) const {
  for (const Native& native : native_) {
    if (native.device == &device) return &native;
  }
  return nullptr;
}

cl_int Memory::native(Device& device, cl_mem& memory) {
  if (const Native* made = find(device)) {
    memory = made->memory;
    return CL_SUCCESS;
  }
  Native native{&device};
  const cl_int error = make(device, native);
  if (error != CL_SUCCESS) {
    device.give_back(native.reserved);
    return error;
  }
  native_.push_back(native);
  if (counters_) counters_->allocated(device.root().index(), native.reserved);
  memory = native.memory;
  return CL_SUCCESS;
}

std::byte* Memory::host_memory(Device& device) {
  cl_mem memory = nullptr;
  return native(device, memory) == CL_SUCCESS ? find(device)->host_memory : nullptr;
}

}  // namespace remotecl::server
