#pragma once

#include <time.h>

#include <cstdint>

namespace remotecl {

// This machine's CLOCK_MONOTONIC_RAW in ns; all times that applications see are in this clock. It runs as evenly as a
// device's clock, because nothing speeds it up or slows it down to follow network time.
inline std::uint64_t host_time_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace remotecl
