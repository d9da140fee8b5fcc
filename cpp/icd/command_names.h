#pragma once

#include <CL/cl.h>

namespace remotecl::icd {

// What people call a command of this type.
const char* command_name(cl_command_type type);

}  // namespace remotecl::icd
