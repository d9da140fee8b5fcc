#include "icd/boundary.h"
#include "runtime/client/objects/device.h"

namespace {

using namespace remotecl;
using icd::object;
using icd::require;

}  // namespace

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceAndHostTimer(cl_device_id device, cl_ulong* device_timestamp,
                                                        cl_ulong* host_timestamp) {
  return icd::enter([&] {
    Device& of = object<Device>(device);
    // "CL_INVALID_VALUE if host_timestamp or device_timestamp is NULL."
    require(device_timestamp != nullptr && host_timestamp != nullptr, CL_INVALID_VALUE);
    std::uint64_t device_ns = 0, host_ns = 0;
    const cl_int error = of.timers(device_ns, host_ns);
    require(error == CL_SUCCESS, error);
    *device_timestamp = device_ns;
    *host_timestamp = host_ns;
  });
}

CL_API_ENTRY cl_int CL_API_CALL clGetHostTimer(cl_device_id device, cl_ulong* host_timestamp) {
  return icd::enter([&] {
    object<Device>(device);
    // "CL_INVALID_VALUE if host_timestamp is NULL."
    require(host_timestamp != nullptr, CL_INVALID_VALUE);
    *host_timestamp = host_time_ns();
  });
}
