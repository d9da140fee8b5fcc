#pragma once

#include <vector>

#include "runtime/client/objects/device.h"
#include "runtime/client/program/binary_container.h"

namespace remotecl {

// The binary of an automatic device (CL_PROGRAM_BINARIES): the containers of all its members, each with the name and
// the driver of its device, after a heading like BinaryContainer's with another magic. A member for which the program
// was not built has an empty one.
std::vector<std::byte> pack_bundle(const std::vector<Device*>& members,
                                   const std::vector<std::vector<std::byte>>& binaries);

// A binary for each of these members; empty for one that had none. Throws BinaryError, also if a member is of a kind
// that the bundle does not know: the program should then be built from source.
std::vector<std::vector<std::byte>> unpack_bundle(const std::vector<Device*>& members, Bytes bundle);

}  // namespace remotecl
