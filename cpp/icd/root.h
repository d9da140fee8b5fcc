#pragma once

#include "runtime/client/split/speed_table.h"

namespace remotecl::icd {

// What belongs to all contexts of the process in the rooms above the platform's. Only entry points ask for it, because
// the C interface has no argument to find it by; what they make gets references. Never destroyed, because threads may
// outlive main().
struct Root {
  SpeedTable speeds;
};

Root& root();

}  // namespace remotecl::icd
