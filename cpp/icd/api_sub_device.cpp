#include <span>
#include <vector>

#include "icd/boundary.h"
#include "runtime/client/objects/device.h"

namespace {

using namespace remotecl;
using icd::object;
using icd::require;

// The list up to its terminating 0. The native driver judges its values.
std::span<const cl_device_partition_property> checked_partition(const cl_device_partition_property* properties) {
  // "CL_INVALID_VALUE if values specified in properties are not valid."
  require(properties != nullptr, CL_INVALID_VALUE);
  std::size_t size = 0;
  switch (properties[0]) {
    case CL_DEVICE_PARTITION_EQUALLY:
    case CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN:
      size = 2;
      break;
    case CL_DEVICE_PARTITION_BY_COUNTS:
      for (size = 1; properties[size] != CL_DEVICE_PARTITION_BY_COUNTS_LIST_END;) ++size;
      ++size;
      break;
    default:
      throw icd::ApiError{CL_INVALID_VALUE};
  }
  require(properties[size] == 0, CL_INVALID_VALUE);
  return {properties, size + 1};
}

}  // namespace

CL_API_ENTRY cl_int CL_API_CALL clCreateSubDevices(cl_device_id device, const cl_device_partition_property* properties,
                                                   cl_uint num_devices, cl_device_id* out_devices,
                                                   cl_uint* num_devices_ret) {
  return icd::enter([&] {
    Device& parent = object<Device>(device);
    const auto list = checked_partition(properties);
    require(out_devices == nullptr || num_devices != 0, CL_INVALID_VALUE);
    std::vector<Ref<Device>> parts;
    cl_uint count = 0;
    const cl_int error = parent.partition(list, out_devices == nullptr ? 0 : num_devices, parts, count);
    require(error == CL_SUCCESS, error);
    for (std::size_t i = 0; i < parts.size(); ++i) out_devices[i] = parts[i].detach()->handle();
    if (num_devices_ret != nullptr) *num_devices_ret = count;
  });
}

// "If device is a root-level device, the call has no effect."
CL_API_ENTRY cl_int CL_API_CALL clRetainDevice(cl_device_id device) {
  return icd::enter([&] {
    Device& of = object<Device>(device);
    if (of.parent() != nullptr) of.retain_handle();
  });
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseDevice(cl_device_id device) {
  return icd::enter([&] {
    Device& of = object<Device>(device);
    if (of.parent() != nullptr) of.release_handle();
  });
}
