#pragma once

#include <memory>

#include "server/admission/own_ports.h"
#include "server/arguments/argument_provider.h"

// What this program has besides the core: the options REMOTECL_... of CMake choose it.
namespace remotecl::server::extras {

// Whether there can be sockets inside kernels.
bool have_kernel_sockets();
// `has_sockets`: the operator allows them. `ports`: to which nothing is connected; they outlive the provider.
std::unique_ptr<ArgumentProvider> argument_provider(bool has_sockets, const OwnPorts& ports);
// Of a session's process, for which the daemon opens sockets.
std::unique_ptr<ArgumentProvider> argument_provider(bool has_sockets, OpenForKernel open);

}  // namespace remotecl::server::extras
