#include "server/memory/sampler.h"

namespace remotecl::server {

Sampler::~Sampler() {
  for (const auto& [device, sampler] : native_) clReleaseSampler(sampler);
}

cl_int Sampler::native(Device& device, cl_sampler& sampler) {
  if (const auto known = native_.find(&device); known != native_.end()) {
    sampler = known->second;
    return CL_SUCCESS;
  }
  cl_int error = CL_SUCCESS;
  const cl_context context = device.context(error);
  if (context == nullptr) return error;
  const cl_sampler made = clCreateSampler(context, normalized_coordinates_, addressing_, filter_, &error);
  if (error != CL_SUCCESS) return error;
  sampler = native_[&device] = made;
  return CL_SUCCESS;
}

}  // namespace remotecl::server
