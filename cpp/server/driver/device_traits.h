#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "server/completion/cl.h"
#include "server/driver/quirks.h"

namespace remotecl::server {

// A driver's answer to one info query, byte for byte.
struct InfoAnswer {
  std::uint32_t name;
  std::vector<std::byte> value;
};

// The driver's description of a device. Asked once; never changes.
struct DeviceTraits {
  DeviceTraits(cl_platform_id platform, cl_device_id id);
  // A sub-device, which is on its parent's platform.
  DeviceTraits(const DeviceTraits& parent, cl_device_id id);

  std::vector<InfoAnswer> platform_info;  // empty for a sub-device
  std::string platform_name;
  bool has_timer;  // the driver has clGetDeviceAndHostTimer
  const Quirks& quirks;

  std::vector<InfoAnswer> info;  // dropped when a sub-device is closed
  std::string name;
  int version = 10;           // 21 for "OpenCL 2.1"; newer entry points must not be called
  bool is_processor = false;  // kernels run on this machine's cores, in this process
  bool is_custom = false;     // its commands are others' code, which often fails when it runs
  bool has_unified_memory = false;
  cl_device_svm_capabilities svm = 0;
  std::uint64_t memory_size = 0;
  std::uint64_t local_memory_size = 0;
  std::uint64_t allocation_size_max = 0;

 private:
  void ask_device(cl_device_id id);
};

}  // namespace remotecl::server
