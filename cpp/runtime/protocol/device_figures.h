#pragma once

#include <cstdint>

namespace remotecl {

// Names of what an operator says of a device, among the answers to info queries: a double each. Without it nothing is
// known.
inline constexpr std::uint32_t kDeviceWatts = 0x5243C004;         // CL_DEVICE_REMOTECL_WATTS
inline constexpr std::uint32_t kDevicePricePerHour = 0x5243C005;  // CL_DEVICE_REMOTECL_PRICE_PER_HOUR

// What the server says itself: 1, 32 bits, if it asks other servers for builds and they may ask it.
inline constexpr std::uint32_t kDeviceSharesBuilds = 0x5243C006;

}  // namespace remotecl
