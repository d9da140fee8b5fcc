#include "opencl_side.h"

#include <utility>
#include <vector>

namespace remotecl::bench {
namespace {

constexpr const char* kSource = R"(
kernel void no_op() {}
kernel void passthrough(global const int* in, global int* out) { *out = *in; }
)";

DeviceChoice describe(cl_platform_id platform, cl_device_id device, size_t index) {
  return {platform,
          device,
          platform_name(platform),
          index,
          device_string(device, CL_DEVICE_NAME),
          device_string(device, CL_DEVICE_VERSION),
          device_string(device, CL_DRIVER_VERSION)};
}

}  // namespace

DeviceChoice find_device(const std::string& name, size_t index) {
  std::string seen;
  for (cl_platform_id platform : all_platforms()) {
    const std::string found = platform_name(platform);
    if (found != name) {
      seen += (seen.empty() ? "" : ", ") + found;
      continue;
    }
    const std::vector<cl_device_id> devices = all_devices(platform);
    if (index < devices.size()) return describe(platform, devices[index], index);
    throw ClError("platform \"" + name + "\" has " + std::to_string(devices.size()) + " devices, no number " +
                  std::to_string(index));
  }
  throw ClError("no OpenCL platform named \"" + name + "\" (found: " + (seen.empty() ? "none" : seen) + ")");
}

std::optional<DeviceChoice> find_native_device(const DeviceChoice& remote, const std::string& platform_part) {
  const auto remote_type = device_value<cl_device_type>(remote.device, CL_DEVICE_TYPE);
  std::optional<DeviceChoice> same_type;
  for (cl_platform_id platform : all_platforms()) {
    const std::string name = platform_name(platform);
    const bool wanted =
        platform_part.empty() ? name != remote.platform_name : name.find(platform_part) != std::string::npos;
    if (!wanted) continue;
    const std::vector<cl_device_id> devices = all_devices(platform);
    for (size_t i = 0; i < devices.size(); ++i) {
      if (device_string(devices[i], CL_DEVICE_NAME) == remote.device_name) {
        return describe(platform, devices[i], i);
      }
      const auto type = device_value<cl_device_type>(devices[i], CL_DEVICE_TYPE);
      if (!same_type && (type & remote_type) != 0) same_type = describe(platform, devices[i], i);
    }
  }
  return same_type;
}

ClSide::ClSide(DeviceChoice choice) : choice_(std::move(choice)) {
  cl_device_id device = choice_.device;
  context_ = make_context(choice_.platform, {device});
  max_allocation_ = device_value<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  queue_ = make_queue(context_.get(), device, 0);
  profiling_queue_ = make_queue(context_.get(), device, CL_QUEUE_PROFILING_ENABLE);
  const auto supported = device_value<cl_command_queue_properties>(device, CL_DEVICE_QUEUE_PROPERTIES);
  if ((supported & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0) {
    out_of_order_queue_ = make_queue(context_.get(), device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  }
  program_ = build(kSource);
  no_op_ = make_kernel(program_, "no_op");
  passthrough_ = make_kernel(program_, "passthrough");
}

Memory ClSide::make_buffer(size_t size) const { return bench::make_buffer(context_.get(), size); }

Program ClSide::build(const std::string& source) const {
  return build_program(context_.get(), {choice_.device}, source);
}

Kernel ClSide::make_kernel(const Program& program, const char* name) const { return bench::make_kernel(program, name); }

void ClSide::enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint wait_count, const cl_event* wait_list,
                     cl_event* event) {
  const size_t one = 1;
  check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, wait_count, wait_list, event),
        "clEnqueueNDRangeKernel");
}

void ClSide::write(cl_command_queue queue, const Memory& buffer, const void* data, size_t size, cl_bool blocking) {
  check(clEnqueueWriteBuffer(queue, buffer.get(), blocking, 0, size, data, 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
}

void ClSide::read(cl_command_queue queue, const Memory& buffer, void* data, size_t size) {
  check(clEnqueueReadBuffer(queue, buffer.get(), CL_TRUE, 0, size, data, 0, nullptr, nullptr), "clEnqueueReadBuffer");
}

void ClSide::finish(cl_command_queue queue) { check(clFinish(queue), "clFinish"); }

}  // namespace remotecl::bench
