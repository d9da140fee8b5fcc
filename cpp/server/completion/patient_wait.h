#pragma once

#include "server/completion/cl.h"

namespace remotecl::server {

// Returns when an event has ended: CL_COMPLETE, or the error that it ended with. NVIDIA's clWaitForEvents takes a core
// all that time, and the driver's locks from who launches kernels. This looks at the status instead: all the time for
// a millisecond, and then with pauses of a 128th of the time that has passed, so that an end is seen that much late.
cl_int wait_patiently(cl_event event);

}  // namespace remotecl::server
