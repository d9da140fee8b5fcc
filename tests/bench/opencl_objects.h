#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace remotecl::bench {

struct ClError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws ClError with the call's name unless `status` is CL_SUCCESS.
void check(cl_int status, const char* call);

template <auto kRelease>
struct Releaser {
  template <typename Object>
  void operator()(Object* object) const {
    kRelease(object);
  }
};
template <typename Handle, auto kRelease>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Releaser<kRelease>>;

using Context = Owned<cl_context, clReleaseContext>;
using Queue = Owned<cl_command_queue, clReleaseCommandQueue>;
using Memory = Owned<cl_mem, clReleaseMemObject>;
using Program = Owned<cl_program, clReleaseProgram>;
using Kernel = Owned<cl_kernel, clReleaseKernel>;
using Event = Owned<cl_event, clReleaseEvent>;

// Each throws ClError when OpenCL refuses.
std::string platform_name(cl_platform_id platform);
std::string device_string(cl_device_id device, cl_device_info what);
template <typename T>
T device_value(cl_device_id device, cl_device_info what) {
  T value{};
  check(clGetDeviceInfo(device, what, sizeof value, &value, nullptr), "clGetDeviceInfo");
  return value;
}
// Empty rather than an error where there is none.
std::vector<cl_platform_id> all_platforms();
std::vector<cl_device_id> all_devices(cl_platform_id platform);

Context make_context(cl_platform_id platform, const std::vector<cl_device_id>& devices);
Queue make_queue(cl_context context, cl_device_id device, cl_command_queue_properties properties);
Memory make_buffer(cl_context context, size_t size);
// The error has the build log.
Program build_program(cl_context context, const std::vector<cl_device_id>& devices, const std::string& source,
                      const std::string& options = "");
Kernel make_kernel(const Program& program, const char* name);
template <typename T>
void set_argument(const Kernel& kernel, cl_uint index, const T& value) {
  check(clSetKernelArg(kernel.get(), index, sizeof value, &value), "clSetKernelArg");
}

}  // namespace remotecl::bench
