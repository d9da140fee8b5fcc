#pragma once

#include "runtime/protocol/messages/session.h"

// Sub-devices, and the clocks of devices.
namespace remotecl {

inline constexpr std::uint32_t kSubDevicesMax = 1024;    // in one CreateSubDevices
inline constexpr std::uint32_t kDeviceIndexMax = 65536;  // indices are below this

struct CreateSubDevices {
  REMOTECL_MESSAGE(CreateSubDevices);
  std::uint32_t device;
  Token token;
  Array<std::int64_t> properties;  // as for clCreateSubDevices, with their terminating 0
  Array<std::uint32_t> indices;    // for the new devices, as many as the application has room for; empty: only count
  REMOTECL_FIELDS(device, token, properties, indices)
};
struct SubDevices {
  REMOTECL_MESSAGE(SubDevices);
  Token token;
  std::int32_t error;
  std::uint32_t count;
  Sequence<DeviceDescription> devices;  // without platform_info, which is the parent's
  REMOTECL_FIELDS(token, error, count, devices)
};
struct ReleaseSubDevice {
  REMOTECL_MESSAGE(ReleaseSubDevice);
  std::uint32_t device;
  REMOTECL_FIELDS(device)
};

// Reads the device's clock, in which profiles are, or the server's own.
inline constexpr std::uint32_t kServerClock = ~std::uint32_t{0};  // in place of a device
struct ReadClock {
  REMOTECL_MESSAGE(ReadClock);
  std::uint32_t device;
  Token token;
  REMOTECL_FIELDS(device, token)
};
struct Clock {
  REMOTECL_MESSAGE(Clock);
  Token token;
  std::int32_t error;
  std::uint64_t time_ns;
  REMOTECL_FIELDS(token, error, time_ns)
};

}  // namespace remotecl
