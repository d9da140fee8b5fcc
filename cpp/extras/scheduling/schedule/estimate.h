#pragma once

#include <cstdint>

#include "extras/scheduling/schedule/ids.h"

namespace remotecl::schedule {

// What is expected if a task goes to a device.
struct Estimate {
  Seconds transfer = 0;     // to bring the data there
  Seconds seconds = 0;      // that the kernel runs
  Time finish = 0;          // after what waits there, on the whole
  std::uint64_t bytes = 0;  // that the device lacks
  bool measured = false;    // or predicted, since this device has not run the kernel
};

}  // namespace remotecl::schedule
