#pragma once

#include <memory>

#include "server/session/session.h"

namespace remotecl::server {

// Stores what changed and brings the native kernel up to date. What fails here is set again with the next command.
cl_int set_arguments(Session& session, DeviceKernel& kernel, Device& device, const Sequence<KernelArgument>& changed);
// What a command that has to wait will run with.
std::shared_ptr<ArgumentSnapshot> snapshot(const SessionObjects& objects, const DeviceKernel& kernel);

}  // namespace remotecl::server
