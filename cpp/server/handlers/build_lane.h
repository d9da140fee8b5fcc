#pragma once

#include <functional>
#include <vector>

#include "server/completion/native.h"
#include "server/driver/device.h"
#include "server/program/program_builder.h"

namespace remotecl::server {

// Devices of one kind that a program is built for: one after another, so that what was compiled for the first is found
// for the others. Used by one thread at a time.
struct BuildLane {
  std::vector<Device*> devices;
  BuildReport report;                       // a record for each device
  std::vector<Native<cl_program>> natives;  // likewise; may be null
};

// Builds for each device; for unlike ones at the same time. `build` is called by several threads. Throws what it
// throws, when all calls have returned.
BuildLane build_in_lanes(const std::vector<Device*>& devices,
                         const std::function<cl_program(BuildReport&, Device&)>& build);

}  // namespace remotecl::server
