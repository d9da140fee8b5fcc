#pragma once

#include <string>

#include "runtime/base/index_set.h"
#include "runtime/schedule/exploration.h"
#include "runtime/schedule/kernel_times.h"
#include "runtime/schedule/parts.h"

namespace remotecl::schedule {

// What is known of a kernel.
struct Kernel {
  std::string name;
  KernelTimes times;
  Exploration exploration;
  IndexSet binaries;        // devices that do not compile but have this kernel
  std::vector<Part> parts;  // of the last launch that was divided
};

}  // namespace remotecl::schedule
