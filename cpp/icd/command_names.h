#pragma once

#include <CL/cl.h>

namespace remotecl::icd {

// The name of this type of command, for people.
const char* command_name(cl_command_type type);

}  // namespace remotecl::icd
