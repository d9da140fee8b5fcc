#include "opencl_objects.h"

namespace remotecl::bench {
namespace {

template <typename Query>
std::string get_string(Query query, const char* call) {
  size_t size = 0;
  check(query(0, nullptr, &size), call);
  std::string text(size, '\0');
  check(query(size, text.data(), nullptr), call);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

std::string build_log(const Program& program, cl_device_id device) {
  return get_string(
      [&](size_t size, void* value, size_t* needed) {
        return clGetProgramBuildInfo(program.get(), device, CL_PROGRAM_BUILD_LOG, size, value, needed);
      },
      "clGetProgramBuildInfo");
}

}  // namespace

void check(cl_int status, const char* call) {
  if (status != CL_SUCCESS) throw ClError(std::string(call) + " returned " + std::to_string(status));
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

Context make_context(cl_platform_id platform, const std::vector<cl_device_id>& devices) {
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(platform),
                                              0};
  cl_int status = CL_SUCCESS;
  Context context(
      clCreateContext(properties, static_cast<cl_uint>(devices.size()), devices.data(), nullptr, nullptr, &status));
  check(status, "clCreateContext");
  return context;
}

Queue make_queue(cl_context context, cl_device_id device, cl_command_queue_properties properties) {
  cl_int status = CL_SUCCESS;
  Queue queue(clCreateCommandQueue(context, device, properties, &status));
  check(status, "clCreateCommandQueue");
  return queue;
}

Memory make_buffer(cl_context context, size_t size) {
  cl_int status = CL_SUCCESS;
  Memory buffer(clCreateBuffer(context, CL_MEM_READ_WRITE, size, nullptr, &status));
  check(status, "clCreateBuffer");
  return buffer;
}

Program build_program(cl_context context, const std::vector<cl_device_id>& devices, const std::string& source,
                      const std::string& options) {
  const char* text = source.c_str();
  cl_int status = CL_SUCCESS;
  Program program(clCreateProgramWithSource(context, 1, &text, nullptr, &status));
  check(status, "clCreateProgramWithSource");
  status = clBuildProgram(program.get(), static_cast<cl_uint>(devices.size()), devices.data(), options.c_str(), nullptr,
                          nullptr);
  if (status == CL_SUCCESS) return program;
  std::string logs;
  for (cl_device_id device : devices) {
    logs += "\n" + device_string(device, CL_DEVICE_NAME) + ": " + build_log(program, device);
  }
  throw ClError("clBuildProgram returned " + std::to_string(status) + logs);
}

Kernel make_kernel(const Program& program, const char* name) {
  cl_int status = CL_SUCCESS;
  Kernel kernel(clCreateKernel(program.get(), name, &status));
  check(status, "clCreateKernel");
  return kernel;
}

}  // namespace remotecl::bench
