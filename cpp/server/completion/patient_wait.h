#pragma once

#include "server/completion/cl.h"

namespace remotecl::server {

// Returns when an event has ended: CL_COMPLETE, or the error that it ended with. NVIDIA's clWaitForEvents keeps
// a core busy and contends for the driver's locks with threads that launch kernels. This polls the status instead:
// for a millisecond without pause, then with pauses of a 128th of the time passed, so it sees an end that much late.
cl_int wait_patiently(cl_event event);

}  // namespace remotecl::server
