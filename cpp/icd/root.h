#pragma once

#include "runtime/client/placement/placement.h"
#include "runtime/client/split/speed_table.h"

namespace remotecl::icd {

// What belongs to all contexts of the process in the rooms above the platform's. Only entry points ask for it, because
// the C interface has no argument to find it by; what they make gets references. Never destroyed, like the sessions,
// which report loads and samples to it, and threads, which may outlive main().
struct Root {
  Root();

  Placement placement;
  SpeedTable speeds;
};

Root& root();

}  // namespace remotecl::icd
