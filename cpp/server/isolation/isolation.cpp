#include "server/isolation/isolation.h"

#include <CL/cl.h>

#include <algorithm>
#include <vector>

namespace remotecl::server {
namespace {

// Also if they are not served: a process opens all drivers, and numbers the devices of all.
bool has_other_devices() {
  constexpr cl_device_type kOthers = CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CUSTOM;
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return true;
  std::vector<cl_platform_id> platforms(count);
  if (clGetPlatformIDs(count, platforms.data(), nullptr) != CL_SUCCESS) return true;
  return std::any_of(platforms.begin(), platforms.end(), [](cl_platform_id platform) {
    cl_uint devices = 0;
    return clGetDeviceIDs(platform, kOthers, 0, nullptr, &devices) == CL_SUCCESS && devices != 0;
  });
}

}  // namespace

IsolationChoice choose_isolation(std::optional<bool> asked, bool is_open, const NativeDriver& driver) {
  const auto& devices = driver.devices();
  const bool has_processor =
      std::any_of(devices.begin(), devices.end(), [](const auto& device) { return device->traits().is_processor; });
  if (asked == true) return {true, "sessions have a process each, as --isolate says"};
  if (asked == false) {
    const bool is_risk = is_open && has_processor;
    return {false, std::string("sessions share one process, as --no-isolate says") +
                       (is_risk ? "; kernels of all users can do there what this server's user can" : "")};
  }
  if (!is_open) return {false, "sessions share one process: the server is on loopback and knows no users"};
  if (has_processor) {
    return {
        true,
        "sessions have a process each: others than this server's user may use it, and kernels run on this machine's "
        "processors; --no-isolate has them share one"};
  }
  return {false,
          "sessions share one process, although others than this server's user may use it: its devices divide their "
          "time between processes, which can make commands five times as slow; --isolate gives each session one"};
}

CallFilter choose_filter(bool has_rdma) {
  return has_rdma || has_other_devices() ? CallFilter::kDenyList : CallFilter::kAllowList;
}

}  // namespace remotecl::server
