// The platform, and the devices of all plugins.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "extras/streams/driver/command.h"
#include "extras/streams/driver/plugin_log.h"
#include "remotecl/plugin.h"

namespace remotecl::plugins {
namespace {

constexpr const char* kName = "remotecl plugins";

// Never destroyed: handles are valid as long as the process. Null: the daemon has asked for no plugins.
cl_platform_id the_platform() {
  static const cl_platform_id platform = [] {
    const char* const settings = std::getenv(PluginSettings::kVariable);
    return settings == nullptr ? nullptr : new _cl_platform_id(parse_settings(settings));
  }();
  return platform;
}

std::vector<KernelDescription> kernels_of(const CatalogueEntry& entry) {
  std::vector<KernelDescription> kernels = entry.device.kernels;
  kernels.push_back(error_kernel());
  return kernels;
}

}  // namespace

const KernelDescription& error_kernel() {
  static const KernelDescription& kernel =
      *new KernelDescription{"remotecl.error", {{"text", "char*", ArgumentKind::kOutput, 1}}};
  return kernel;
}

cl_int answer_bytes(const void* bytes, std::size_t count, std::size_t size, void* to, std::size_t* size_ret) {
  if (to != nullptr && size < count) return CL_INVALID_VALUE;
  if (to != nullptr && count != 0) std::memcpy(to, bytes, count);
  if (size_ret != nullptr) *size_ret = count;
  return CL_SUCCESS;
}

}  // namespace remotecl::plugins

using namespace remotecl::plugins;

_cl_platform_id::_cl_platform_id(PluginSettings settings) : catalogue(std::move(settings)) {
  for (const std::string& problem : catalogue.problems()) log_line(problem);
  for (const CatalogueEntry& entry : catalogue.entries()) {
    devices.push_back(std::unique_ptr<_cl_device_id>(
        new _cl_device_id{.platform = this, .entry = entry, .kernels = kernels_of(entry)}));
  }
}

cl_int clGetPlatformIDs(cl_uint count, cl_platform_id* ids, cl_uint* count_ret) {
  const cl_platform_id platform = the_platform();
  if (ids != nullptr && count != 0 && platform != nullptr) ids[0] = platform;
  if (count_ret != nullptr) *count_ret = platform == nullptr ? 0 : 1;
  constexpr cl_int kPlatformNotFound = -1001;
  return platform == nullptr ? kPlatformNotFound : CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id, cl_platform_info name, std::size_t size, void* value, std::size_t* size_ret) {
  switch (name) {
    case CL_PLATFORM_NAME:
      return answer_text(kName, size, value, size_ret);
    case CL_PLATFORM_VENDOR:
      return answer_text("remotecl", size, value, size_ret);
    case CL_PLATFORM_PROFILE:
      return answer_text("FULL_PROFILE", size, value, size_ret);
    case CL_PLATFORM_EXTENSIONS:
      return answer_text("cl_khr_icd", size, value, size_ret);
    case 0x0920:  // CL_PLATFORM_ICD_SUFFIX_KHR
      return answer_text("RCLP", size, value, size_ret);
    case CL_PLATFORM_VERSION:
      return answer_text("OpenCL 3.0 remotecl " REMOTECL_VERSION, size, value, size_ret);
    case CL_PLATFORM_HOST_TIMER_RESOLUTION:
      return answer<cl_ulong>(1, size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

// "CL_DEVICE_TYPE_ALL: All OpenCL devices available in the system, except for custom devices." All devices here are
// custom.
cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint count, cl_device_id* ids,
                      cl_uint* count_ret) {
  const bool is_custom = type != CL_DEVICE_TYPE_ALL && (type & CL_DEVICE_TYPE_CUSTOM) != 0;
  const std::size_t found = is_custom ? platform->devices.size() : 0;
  for (std::size_t i = 0; ids != nullptr && i < std::min<std::size_t>(found, count); ++i) {
    ids[i] = platform->devices[i].get();
  }
  if (count_ret != nullptr) *count_ret = static_cast<cl_uint>(found);
  return found == 0 ? CL_DEVICE_NOT_FOUND : CL_SUCCESS;
}

cl_int clRetainDevice(cl_device_id) { return CL_SUCCESS; }
cl_int clReleaseDevice(cl_device_id) { return CL_SUCCESS; }

cl_int clGetDeviceAndHostTimer(cl_device_id, cl_ulong* device_time, cl_ulong* host_time) {
  *device_time = *host_time = now();
  return CL_SUCCESS;
}

cl_int clGetHostTimer(cl_device_id, cl_ulong* host_time) {
  *host_time = now();
  return CL_SUCCESS;
}

void* clGetExtensionFunctionAddressForPlatform(cl_platform_id, const char* name) {
  return std::strcmp(name, REMOTECL_PLUGIN_LOG_FUNCTION) == 0 ? reinterpret_cast<void*>(&set_log) : nullptr;
}
