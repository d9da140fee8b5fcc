#pragma once

#include "runtime/client/placement/placement.h"
#include "runtime/client/split/speed_table.h"

namespace remotecl::icd {

// What belongs to all contexts of the process in the rooms above the platform's. Only entry points look it up, because
// the C interface has no argument that could carry it; the objects that they make get references. Never destroyed:
// sessions, which report loads and samples to it, are not either, and threads may outlive main().
struct Root {
  Root();

  Placement placement;
  SpeedTable speeds;
};

Root& root();

}  // namespace remotecl::icd
