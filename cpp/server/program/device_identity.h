#pragma once

#include <string>

#include "runtime/crypto/digest.h"
#include "server/driver/device.h"

namespace remotecl::server {

// The code that was loaded into this process at the first call: this program, drivers, compilers. Their build ids, or
// what their files look like. To be asked before anything is built, because PoCL loads kernels like libraries: then it
// is the same in all processes of the same program with the same drivers.
const std::string& loaded_code();

// What a driver's compiler makes of a program depends on this, beside the program: versions, all that the device and
// its platform say of themselves, the processor's features where kernels run on it, variables of the environment that
// drivers read, and `code`, of loaded_code().
Digest device_identity(const Device& device, const std::string& code);

}  // namespace remotecl::server
