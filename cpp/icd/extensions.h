#pragma once

#include <CL/cl.h>

#include <span>
#include <string_view>

// Extensions that remotecl brings itself, whatever the native driver has.
namespace remotecl::icd {

std::span<const cl_name_version> own_extensions();
// An entry point of theirs; null for a name that is not one.
void* extension_function(std::string_view name);

// cl_pocl_content_size.
cl_int CL_API_CALL set_content_size_buffer(cl_mem buffer, cl_mem content_size_buffer);

}  // namespace remotecl::icd
