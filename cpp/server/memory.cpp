#include "server/memory.h"

namespace remotecl::server {

Memory::~Memory() {
  for (const cl_mem memory : native_) {
    if (memory != nullptr) clReleaseMemObject(memory);
  }
}

cl_int Memory::native(Device& device, cl_mem& memory) {
  if (device.index() < native_.size() && native_[device.index()] != nullptr) {
    memory = native_[device.index()];
    return CL_SUCCESS;
  }
  const cl_int error = make(device, memory);
  if (error != CL_SUCCESS) return error;
  if (native_.size() <= device.index()) native_.resize(device.index() + 1);
  native_[device.index()] = memory;
  return CL_SUCCESS;
}

}  // namespace remotecl::server
