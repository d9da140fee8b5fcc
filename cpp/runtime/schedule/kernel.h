#pragma once

#include <string>

#include "runtime/base/index_set.h"
#include "runtime/schedule/exploration.h"
#include "runtime/schedule/kernel_times.h"

namespace remotecl::schedule {

// What is known of a kernel.
struct Kernel {
  std::string name;
  KernelTimes times;
  Exploration exploration;
  IndexSet binaries;  // devices that do not compile but have this kernel
};

}  // namespace remotecl::schedule
