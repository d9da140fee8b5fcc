#pragma once

#include <string>

#include "runtime/client/objects/memory_object.h"

namespace remotecl {

// Asks the device's server for a network; blocks. First waits until that server is linked to the context's other
// servers whose kernels may have sockets, or cannot be. On failure returns null and sets the error, and its reason for
// people.
Ref<MemoryObject> make_network(Context& context, Device& device, std::uint32_t sockets, std::uint32_t ring_bytes,
                               cl_int& error, std::string& why);
// Closes the network's sockets; kernels that wait for one get an error. REQUIRES: it is a network.
void stop_network(const MemoryObject& network);
// Whether kernels can have sockets there.
bool has_kernel_sockets(const Device& device);
// How many work-groups of a kernel the device is sure to run at once.
std::size_t resident_groups(const Device& device);

}  // namespace remotecl
