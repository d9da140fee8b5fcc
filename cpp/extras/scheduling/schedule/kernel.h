#pragma once

#include <string>

#include "extras/scheduling/schedule/exploration.h"
#include "extras/scheduling/schedule/kernel_times.h"
#include "runtime/base/index_set.h"

namespace remotecl::schedule {

// What is known of a kernel.
struct Kernel {
  std::string name;
  KernelTimes times;
  Exploration exploration;
  IndexSet binaries;  // devices that do not compile but have this kernel
};

}  // namespace remotecl::schedule
