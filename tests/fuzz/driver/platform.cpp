// Two platforms with a device each: a processor, of which PoCL's habits are asked, and a device with memory of its own.
#include <cstring>
#include <map>

#include "driver/objects.h"

namespace remotecl::fuzz {
namespace {

_cl_platform_id platforms[] = {{"Portable Computing Language"}, {"Fake"}};
_cl_device_id devices[] = {{&platforms[0], true, 4}, {&platforms[1], false, 4}};

constexpr cl_ulong kGlobalBytes = 64u << 20;
constexpr cl_ulong kAllocationBytes = 12u << 20;

}  // namespace

cl_int answer_bytes(const void* bytes, std::size_t count, std::size_t size, void* to, std::size_t* size_ret) {
  if (to != nullptr && size < count) return CL_INVALID_VALUE;
  if (to != nullptr && count != 0) std::memcpy(to, bytes, count);
  if (size_ret != nullptr) *size_ret = count;
  return CL_SUCCESS;
}

}  // namespace remotecl::fuzz

using namespace remotecl::fuzz;

cl_int clGetPlatformIDs(cl_uint count, cl_platform_id* ids, cl_uint* count_ret) {
  for (cl_uint i = 0; ids != nullptr && i < count && i < 2; ++i) ids[i] = &platforms[i];
  if (count_ret != nullptr) *count_ret = 2;
  return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info name, std::size_t size, void* value,
                         std::size_t* size_ret) {
  switch (name) {
    case CL_PLATFORM_NAME:
      return answer_text(platform->name, size, value, size_ret);
    case CL_PLATFORM_VERSION:
      return answer_text("OpenCL 3.0 fake", size, value, size_ret);
    case CL_PLATFORM_HOST_TIMER_RESOLUTION:
      return answer<cl_ulong>(platform == &platforms[1] ? 1 : 0, size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type, cl_uint count, cl_device_id* ids, cl_uint* count_ret) {
  if (ids != nullptr && count > 0) ids[0] = &devices[platform == &platforms[0] ? 0 : 1];
  if (count_ret != nullptr) *count_ret = 1;
  return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info name, std::size_t size, void* value, std::size_t* size_ret) {
  switch (name) {
    case CL_DEVICE_NAME:
      return answer_text(device->is_cpu ? "processor" : "accelerator", size, value, size_ret);
    case CL_DEVICE_VERSION:
      return answer_text("OpenCL 3.0 fake", size, value, size_ret);
    case CL_DEVICE_TYPE:
      return answer<cl_device_type>(device->is_cpu ? CL_DEVICE_TYPE_CPU : CL_DEVICE_TYPE_GPU, size, value, size_ret);
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
      return answer<cl_bool>(device->is_cpu ? CL_TRUE : CL_FALSE, size, value, size_ret);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
      return answer(kGlobalBytes, size, value, size_ret);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
      return answer(kAllocationBytes, size, value, size_ret);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
      return answer(device->units, size, value, size_ret);
    case CL_DEVICE_SVM_CAPABILITIES:
      return answer<cl_device_svm_capabilities>(CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, size, value, size_ret);
    case CL_DEVICE_PARTITION_PROPERTIES:
      return answer<cl_device_partition_property>(CL_DEVICE_PARTITION_EQUALLY, size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int clCreateSubDevices(cl_device_id device, const cl_device_partition_property* properties, cl_uint room,
                          cl_device_id* ids, cl_uint* count_ret) {
  const DriverLock lock(driver_mutex());
  if (properties[0] != CL_DEVICE_PARTITION_EQUALLY || properties[1] < 1 || properties[2] != 0) return CL_INVALID_VALUE;
  const auto each = static_cast<std::uint64_t>(properties[1]);
  const auto count = static_cast<cl_uint>(device->units / each);
  if (count == 0) return CL_DEVICE_PARTITION_FAILED;
  if (ids != nullptr && room < count) return CL_INVALID_VALUE;
  for (cl_uint i = 0; ids != nullptr && i < count; ++i) {
    ids[i] = new _cl_device_id(device->platform, device->is_cpu, static_cast<cl_uint>(each));
  }
  if (count_ret != nullptr) *count_ret = count;
  return CL_SUCCESS;
}

cl_int clRetainDevice(cl_device_id device) {
  const DriverLock lock(driver_mutex());
  retain(device);
  return CL_SUCCESS;
}

cl_int clReleaseDevice(cl_device_id device) {
  const DriverLock lock(driver_mutex());
  release(device);
  return CL_SUCCESS;
}

cl_context clCreateContext(const cl_context_properties*, cl_uint count, const cl_device_id* ids,
                           void(CL_CALLBACK*)(const char*, const void*, std::size_t, void*), void*, cl_int* error) {
  const DriverLock lock(driver_mutex());
  if (count != 1 || !is(ids[0], kDevice)) return failed<_cl_context>(CL_INVALID_DEVICE, error);
  return made(new _cl_context(ids[0]), error);
}

cl_int clReleaseContext(cl_context context) {
  const DriverLock lock(driver_mutex());
  release(context);
  return CL_SUCCESS;
}

cl_int clGetDeviceAndHostTimer(cl_device_id, cl_ulong* device_time, cl_ulong* host_time) {
  static std::atomic<cl_ulong> time{0};
  *device_time = *host_time = ++time;
  return CL_SUCCESS;
}

namespace {

cl_int suggested_size(cl_command_queue, cl_kernel kernel, cl_uint dimensions, const std::size_t*, const std::size_t*,
                      std::size_t* local) {
  const DriverLock lock(driver_mutex());
  if (!is(kernel, kKernel)) return CL_INVALID_KERNEL;
  for (cl_uint i = 0; i < dimensions; ++i) local[i] = 1;
  return CL_SUCCESS;
}

}  // namespace

void* clGetExtensionFunctionAddressForPlatform(cl_platform_id, const char* name) {
  if (std::strcmp(name, "clGetKernelSuggestedLocalWorkSizeKHR") != 0) return nullptr;
  return reinterpret_cast<void*>(&suggested_size);
}
