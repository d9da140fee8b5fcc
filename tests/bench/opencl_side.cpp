#include "opencl_side.h"

#include <utility>
#include <vector>

namespace remotecl::bench {
namespace {

constexpr const char* kSource = R"(
kernel void no_op() {}
kernel void passthrough(global const int* in, global int* out) { *out = *in; }
)";

template <typename Query>
std::string get_string(Query query, const char* call) {
  size_t size = 0;
  check(query(0, nullptr, &size), call);
  std::string text(size, '\0');
  check(query(size, text.data(), nullptr), call);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

std::string platform_name(cl_platform_id platform) {
  return get_string([&](size_t size, void* value,
                        size_t* needed) { return clGetPlatformInfo(platform, CL_PLATFORM_NAME, size, value, needed); },
                    "clGetPlatformInfo");
}

std::string device_string(cl_device_id device, cl_device_info what) {
  return get_string(
      [&](size_t size, void* value, size_t* needed) { return clGetDeviceInfo(device, what, size, value, needed); },
      "clGetDeviceInfo");
}

template <typename T>
T device_value(cl_device_id device, cl_device_info what) {
  T value{};
  check(clGetDeviceInfo(device, what, sizeof value, &value, nullptr), "clGetDeviceInfo");
  return value;
}

// Empty rather than an error where the loader reports that there is no platform.
std::vector<cl_platform_id> all_platforms() {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return {};
  std::vector<cl_platform_id> platforms(count);
  check(clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  return platforms;
}

std::vector<cl_device_id> all_devices(cl_platform_id platform) {
  cl_uint count = 0;
  const cl_int status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  if (status == CL_DEVICE_NOT_FOUND || count == 0) return {};
  check(status, "clGetDeviceIDs");
  std::vector<cl_device_id> devices(count);
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr), "clGetDeviceIDs");
  return devices;
}

DeviceChoice describe(cl_platform_id platform, cl_device_id device, size_t index) {
  return {platform,
          device,
          platform_name(platform),
          index,
          device_string(device, CL_DEVICE_NAME),
          device_string(device, CL_DEVICE_VERSION),
          device_string(device, CL_DRIVER_VERSION)};
}

Queue make_queue(cl_context context, cl_device_id device, cl_command_queue_properties properties) {
  cl_int status = CL_SUCCESS;
  Queue queue(clCreateCommandQueue(context, device, properties, &status));
  check(status, "clCreateCommandQueue");
  return queue;
}

}  // namespace

void check(cl_int status, const char* call) {
  if (status != CL_SUCCESS) throw ClError(std::string(call) + " returned " + std::to_string(status));
}

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
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(choice_.platform), 0};
  cl_int status = CL_SUCCESS;
  context_.reset(clCreateContext(properties, 1, &device, nullptr, nullptr, &status));
  check(status, "clCreateContext");
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

Memory ClSide::make_buffer(size_t size) const {
  cl_int status = CL_SUCCESS;
  Memory buffer(clCreateBuffer(context_.get(), CL_MEM_READ_WRITE, size, nullptr, &status));
  check(status, "clCreateBuffer");
  return buffer;
}

Program ClSide::build(const std::string& source) const {
  const char* text = source.c_str();
  cl_int status = CL_SUCCESS;
  Program program(clCreateProgramWithSource(context_.get(), 1, &text, nullptr, &status));
  check(status, "clCreateProgramWithSource");
  cl_device_id device = choice_.device;
  if (clBuildProgram(program.get(), 1, &device, "", nullptr, nullptr) != CL_SUCCESS) {
    throw ClError("clBuildProgram failed on " + choice_.platform_name + ":\n" +
                  get_string(
                      [&](size_t size, void* value, size_t* needed) {
                        return clGetProgramBuildInfo(program.get(), device, CL_PROGRAM_BUILD_LOG, size, value, needed);
                      },
                      "clGetProgramBuildInfo"));
  }
  return program;
}

Kernel ClSide::make_kernel(const Program& program, const char* name) const {
  cl_int status = CL_SUCCESS;
  Kernel kernel(clCreateKernel(program.get(), name, &status));
  check(status, "clCreateKernel");
  return kernel;
}

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
