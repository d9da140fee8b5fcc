#pragma once

#include <cstdint>

#include "runtime/schedule/ids.h"

namespace remotecl::schedule {

// A way for bytes, as measured.
struct Link {
  double bytes_per_s = 1e9;
  Seconds latency = 100e-6;

  Seconds seconds(std::uint64_t bytes) const { return latency + static_cast<double>(bytes) / bytes_per_s; }
};

}  // namespace remotecl::schedule
