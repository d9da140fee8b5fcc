#pragma once

#include <cstdint>

namespace remotecl::schedule {

// Seconds since a moment that the caller chooses; the room has no clock of its own.
using Time = double;
using Seconds = double;

// Devices and servers have small numbers in the order in which they were added. They are indices, so they are never
// given to another one.
using DeviceId = std::uint32_t;
using ServerId = std::uint32_t;
using KernelId = std::uint32_t;  // of KernelTimes
using BufferId = std::uint64_t;  // the caller's
using Ticket = std::uint64_t;    // names a task in flight; 0 names none

inline constexpr DeviceId kNoDevice = UINT32_MAX;
inline constexpr ServerId kClient = 0;  // this process, as a location of bytes

}  // namespace remotecl::schedule
