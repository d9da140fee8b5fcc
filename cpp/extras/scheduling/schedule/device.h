#pragma once

#include <cstdint>

#include "extras/scheduling/schedule/ids.h"

namespace remotecl::schedule {

enum class DeviceType : std::uint8_t { kCpu, kGpu, kAccelerator, kOther };
inline constexpr std::uint32_t kDeviceTypes = 4;

// What decisions ask of each device: in a table of its own, because they read it as a whole.
struct Pace {
  double slowness = 1;  // 1 / Device::speed
  DeviceType type = DeviceType::kOther;
  bool builds = true;      // as Device::builds
  bool is_present = true;  // or lost
};

// What is known of a device before anything has run on it.
struct Device {
  ServerId server = kClient;
  DeviceType type = DeviceType::kOther;
  // Whether it compiles kernels. If not, it runs only those that it was given as binaries, as FPGAs do.
  bool builds = true;
  // How fast it is next to others, in any unit that all devices share, e.g. compute units times clock. Predicts kernels
  // that have not been measured here.
  double speed = 1;
  std::uint64_t memory_bytes = UINT64_MAX;

  Pace pace() const { return {1 / speed, type, builds}; }
};

}  // namespace remotecl::schedule
