#pragma once

#include <vector>

#include "runtime/client/objects/device.h"

namespace remotecl {

// Makes the device that stands for those of `devices` that run OpenCL C and whose servers are not lost. Its info is
// what all of them can do. Null if there are none.
Device* make_automatic_device(Platform& platform, const std::vector<Device*>& devices);

}  // namespace remotecl
