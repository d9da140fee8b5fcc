#pragma once

#include <string>
#include <vector>

#include "runtime/client/program/kernel.h"

namespace remotecl {

// Equal for kernels that take the same time: of the same name, from programs of the same text and options, on the same
// devices.
std::string kernel_key(Kernel& kernel, const std::vector<Device*>& devices);

}  // namespace remotecl
