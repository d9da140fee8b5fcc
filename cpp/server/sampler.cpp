#include "server/sampler.h"

namespace remotecl::server {

Sampler::~Sampler() {
  for (const cl_sampler sampler : native_) {
    if (sampler != nullptr) clReleaseSampler(sampler);
  }
}

cl_int Sampler::native(Device& device, cl_sampler& sampler) {
  if (native_.size() <= device.index()) native_.resize(device.index() + 1);
  cl_sampler& slot = native_[device.index()];
  if (slot == nullptr) {
    cl_int error = CL_SUCCESS;
    const cl_context context = device.context(error);
    if (context == nullptr) return error;
    const cl_sampler made = clCreateSampler(context, normalized_coordinates_, addressing_, filter_, &error);
    if (error != CL_SUCCESS) return error;
    slot = made;
  }
  sampler = slot;
  return CL_SUCCESS;
}

}  // namespace remotecl::server
