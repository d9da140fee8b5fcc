#pragma once

#include <CL/cl.h>

#include <cstddef>

namespace remotecl::fuzz {

// Small OpenCL programs, each about one noun, that take any answer. They let go of all that they have made.
using Program = void (*)(cl_device_id device);
extern const Program kPrograms[];
extern const std::size_t kProgramCount;

}  // namespace remotecl::fuzz
