#pragma once

#include <memory>

#include "server/session/session.h"

namespace remotecl::server {

// Stores the changed arguments and updates the native kernel. What fails here is set again with the next
// command.
cl_int set_arguments(Session& session, DeviceKernel& kernel, Device& device, const Sequence<KernelArgument>& changed);
// The arguments of a command that has to wait.
std::shared_ptr<ArgumentSnapshot> snapshot(const SessionObjects& objects, const DeviceKernel& kernel);

}  // namespace remotecl::server
