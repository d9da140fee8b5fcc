#pragma once

#include <cstdint>

namespace remotecl {

// Names of info queries that a server answers about a device and no driver does.

// 32 bits: 1 if the driver has a binary of a program that was just built; 0 if it would have to compile for it, so that
// a recipe stands for the binary.
inline constexpr std::uint32_t kDeviceHasBinaries = 0x5243C006;
// A cl_bool: whether kernels can have sockets there. Without it they cannot.
inline constexpr std::uint32_t kDeviceKernelSockets = 0x5243C007;  // CL_DEVICE_REMOTECL_KERNEL_SOCKETS

// A cl_bool: whether sub-buffers may begin at any byte there. Without it CL_DEVICE_MEM_BASE_ADDR_ALIGN counts.
inline constexpr std::uint32_t kDeviceTakesAnySubBuffer = 0x5243C008;

}  // namespace remotecl
