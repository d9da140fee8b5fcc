#include "server/memory.h"

namespace remotecl::server {

Memory::~Memory() {
  for (const Native& native : native_) {
    if (native.memory == nullptr) continue;
    clReleaseMemObject(native.memory);
    native.device->give_back(native.reserved);
  }
}

cl_int Memory::native(Device& device, cl_mem& memory) {
  if (device.index() < native_.size() && native_[device.index()].memory != nullptr) {
    memory = native_[device.index()].memory;
    return CL_SUCCESS;
  }
  Native native{&device};
  const cl_int error = make(device, native.memory, native.reserved);
  if (error != CL_SUCCESS) {
    device.give_back(native.reserved);
    return error;
  }
  if (native_.size() <= device.index()) native_.resize(device.index() + 1);
  native_[device.index()] = native;
  memory = native.memory;
  return CL_SUCCESS;
}

}  // namespace remotecl::server
