// The platforms and devices that the settings ask for, and contexts.
#include <cstring>
#include <memory>

#include "fakes/driver/objects.h"

namespace remotecl::fake {
namespace {

constexpr cl_uint kUnits = 4;

void add_devices(_cl_platform_id& platform, cl_device_type type, int count) {
  for (int i = 0; i < count; ++i) platform.devices.push_back(new _cl_device_id(&platform, type, i, kUnits));
}

// Never destroyed: a driver's handles are valid as long as the process.
const std::vector<cl_platform_id>& platforms() {
  static const auto& all = *[] {
    auto* made = new std::vector<cl_platform_id>;
    for (const PlatformSettings& wanted : settings().platforms) {
      auto* platform = made->emplace_back(new _cl_platform_id{.name = wanted.name, .devices = {}});
      add_devices(*platform, CL_DEVICE_TYPE_CPU, wanted.cpus);
      add_devices(*platform, CL_DEVICE_TYPE_GPU, wanted.gpus);
      add_devices(*platform, CL_DEVICE_TYPE_ACCELERATOR, wanted.accelerators);
      add_devices(*platform, CL_DEVICE_TYPE_CUSTOM, wanted.customs);
    }
    return made;
  }();
  return all;
}

}  // namespace

cl_int answer_bytes(const void* bytes, std::size_t count, std::size_t size, void* to, std::size_t* size_ret) {
  if (to != nullptr && size < count) return CL_INVALID_VALUE;
  if (to != nullptr && count != 0) std::memcpy(to, bytes, count);
  if (size_ret != nullptr) *size_ret = count;
  return CL_SUCCESS;
}

}  // namespace remotecl::fake

using namespace remotecl::fake;

cl_int clGetPlatformIDs(cl_uint count, cl_platform_id* ids, cl_uint* count_ret) {
  const auto& all = platforms();
  for (cl_uint i = 0; ids != nullptr && i < count && i < all.size(); ++i) ids[i] = all[i];
  if (count_ret != nullptr) *count_ret = static_cast<cl_uint>(all.size());
  return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info name, std::size_t size, void* value,
                         std::size_t* size_ret) {
  switch (name) {
    case CL_PLATFORM_NAME:
      return answer_text(platform->name, size, value, size_ret);
    case CL_PLATFORM_VENDOR:
      return answer_text("remotecl", size, value, size_ret);
    case CL_PLATFORM_PROFILE:
      return answer_text("FULL_PROFILE", size, value, size_ret);
    case CL_PLATFORM_EXTENSIONS:
      return answer_text("cl_khr_icd", size, value, size_ret);
    case CL_PLATFORM_ICD_SUFFIX_KHR:
      return answer_text("FAKE", size, value, size_ret);
    case CL_PLATFORM_VERSION:
      return answer_text("OpenCL 3.0 fake", size, value, size_ret);
    case CL_PLATFORM_HOST_TIMER_RESOLUTION:
      return answer<cl_ulong>(platform->name == "Portable Computing Language" ? 0 : 1, size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

// Custom devices only where they are asked for: they are not among "all".
cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint count, cl_device_id* ids,
                      cl_uint* count_ret) {
  cl_uint found = 0;
  for (const cl_device_id device : platform->devices) {
    const bool is_default = (type & CL_DEVICE_TYPE_DEFAULT) != 0 && found == 0;
    const bool fits = type == CL_DEVICE_TYPE_ALL ? !device->is_custom() : (device->type & type) != 0 || is_default;
    if (!fits) continue;
    if (ids != nullptr && found < count) ids[found] = device;
    ++found;
  }
  if (count_ret != nullptr) *count_ret = found;
  return found == 0 ? CL_DEVICE_NOT_FOUND : CL_SUCCESS;
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
    ids[i] = new _cl_device_id(device->platform, device->type, device->number, static_cast<cl_uint>(each));
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
  *device_time = *host_time = now();
  return CL_SUCCESS;
}

namespace {

cl_int suggested_size(cl_command_queue, cl_kernel kernel, cl_uint dimensions, const std::size_t*,
                      const std::size_t* global, std::size_t* local) {
  const DriverLock lock(driver_mutex());
  if (!is(kernel, kKernel)) return CL_INVALID_KERNEL;
  for (cl_uint i = 0; i < dimensions; ++i) local[i] = 1;
  if (global[0] % settings().kernel_group == 0) local[0] = settings().kernel_group;
  return CL_SUCCESS;
}

}  // namespace

void* clGetExtensionFunctionAddressForPlatform(cl_platform_id, const char* name) {
  if (std::strcmp(name, "clGetKernelSuggestedLocalWorkSizeKHR") != 0) return nullptr;
  return reinterpret_cast<void*>(&suggested_size);
}
