#pragma once

#include <CL/cl.h>

#include <span>
#include <string_view>

// Extensions that remotecl implements itself, independently of the native driver.
namespace remotecl::icd {

std::span<const cl_name_version> own_extensions();
// An entry point of these extensions, or null for other names.
void* extension_function(std::string_view name);

// cl_pocl_content_size.
cl_int CL_API_CALL set_content_size_buffer(cl_mem buffer, cl_mem content_size_buffer);

}  // namespace remotecl::icd
