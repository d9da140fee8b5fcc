#pragma once

#include "runtime/client/objects/device.h"

namespace remotecl::icd {

// Whether this library and the device's server give kernels sockets there.
bool can_have_kernel_sockets(const Device& device);

}  // namespace remotecl::icd
