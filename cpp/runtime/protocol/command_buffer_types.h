#pragma once

#include <CL/cl_ext.h>

// Constants of cl_khr_command_buffer 0.9.1 that later headers have no more.
#ifndef CL_COMMAND_BUFFER_STATE_PENDING_KHR
#define CL_COMMAND_BUFFER_STATE_PENDING_KHR 2
#endif
#ifndef CL_COMMAND_BUFFER_CAPABILITY_OUT_OF_ORDER_KHR
#define CL_COMMAND_BUFFER_CAPABILITY_OUT_OF_ORDER_KHR (1 << 3)
#endif
