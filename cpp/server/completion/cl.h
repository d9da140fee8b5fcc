#pragma once

// OpenCL with the calls that a 1.2 driver has.
#ifndef CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#endif
#ifndef CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS  // cl_khr_subgroups
#endif
#include <CL/cl.h>
#include <CL/cl_ext.h>
