#pragma once

#include <cstdint>

namespace remotecl {

// Names of what a server says of a device that no driver does, among the answers to info queries.

// By its operator: a double each. Without it nothing is known.
inline constexpr std::uint32_t kDeviceWatts = 0x5243C004;         // CL_DEVICE_REMOTECL_WATTS
inline constexpr std::uint32_t kDevicePricePerHour = 0x5243C005;  // CL_DEVICE_REMOTECL_PRICE_PER_HOUR

// The server's own property: 1, 32 bits, if it asks other servers for builds and they may ask it.
inline constexpr std::uint32_t kDeviceSharesBuilds = 0x5243C006;
// A cl_bool: whether kernels can have sockets there. Without it they cannot.
inline constexpr std::uint32_t kDeviceKernelSockets = 0x5243C007;  // CL_DEVICE_REMOTECL_KERNEL_SOCKETS

}  // namespace remotecl
