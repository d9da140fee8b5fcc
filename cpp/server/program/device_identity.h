#pragma once

#include <string>
#include <string_view>

#include "runtime/crypto/digest.h"
#include "server/driver/device.h"

namespace remotecl::server {

// Identifies the code loaded into this process at the first call (this program, drivers, compilers) by build
// ids or, failing those, file attributes. Call it before anything is built, because PoCL loads kernels like
// libraries. Then it is the same in all processes of the same program with the same drivers.
const std::string& loaded_code();

// Appends to a text that becomes a digest. The size in front of each part marks where it ends.
void add_part(std::string& text, std::string_view part);

// Everything besides the program that a driver's compiler output depends on: versions, all that the device
// and its platform report, the processor's features if kernels run on it, environment variables that drivers
// read, and `code`, which is loaded_code().
Digest device_identity(const Device& device, const std::string& code);

}  // namespace remotecl::server
