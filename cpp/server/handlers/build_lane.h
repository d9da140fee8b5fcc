#pragma once

#include <functional>
#include <vector>

#include "server/completion/native.h"
#include "server/driver/device.h"
#include "server/program/program_builder.h"

namespace remotecl::server {

// Devices of one kind that a program is built for. Builds for them run one after another, so that later ones reuse what
// the first has compiled. Used by one thread at a time.
struct BuildLane {
  std::vector<Device*> devices;
  BuildReport report;                       // a record for each device
  std::vector<Native<cl_program>> natives;  // likewise; may be null
};

// Builds for each device, and for devices of different kinds at the same time, so several threads call `build`. An
// exception of `build` is rethrown when all calls have returned.
BuildLane build_in_lanes(const std::vector<Device*>& devices,
                         const std::function<cl_program(BuildReport&, Device&)>& build);

}  // namespace remotecl::server
