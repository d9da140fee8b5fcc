#pragma once

#include <memory>

#include "server/execution/native_command.h"
#include "server/session/session.h"

namespace remotecl::server {

// Stores the changed arguments and updates the native kernel. What fails here is set again with the next
// command.
cl_int set_arguments(Session& session, DeviceKernel& kernel, Device& device, const Sequence<KernelArgument>& changed)
    REQUIRES(session_lock);
// Sets everything that the native kernel needs for a launch, and checks the launch.
inline cl_int prepare(Session& session, const EnqueueKernel& message, const Kernel& kernel, DeviceKernel& native,
                      Device& device) REQUIRES(session_lock) {
  cl_int error = set_arguments(session, native, device, message.arguments);
  if (error == CL_SUCCESS) error = native.use_svm(kernel.svm(), device);
  if (error == CL_SUCCESS && !native.fits(device)) error = CL_OUT_OF_RESOURCES;
  if (error == CL_SUCCESS && (message.dimensions < 1 || message.dimensions > 3)) error = CL_INVALID_WORK_DIMENSION;
  return error;
}
// REQUIRES: prepare() has succeeded.
inline KernelRange range_of(const EnqueueKernel& message) {
  return {message.dimensions, message.has_local != 0, sizes_of(message.offset), sizes_of(message.global),
          sizes_of(message.local)};
}
// The arguments of a command that has to wait.
std::shared_ptr<ArgumentSnapshot> snapshot(const SessionObjects& objects, const DeviceKernel& kernel)
    REQUIRES(session_lock);

}  // namespace remotecl::server
