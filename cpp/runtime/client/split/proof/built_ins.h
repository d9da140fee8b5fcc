#pragma once

#include <string>

namespace remotecl::proof {

// Whether OpenCL C has a function of this name whose result depends on its arguments only.
bool is_pure_function(const std::string& name);
// Whether it has a constant of this name, which is no integer of interest.
bool is_constant(const std::string& name);
// Why a kernel with this name in it is not divided.
std::string why_not(const std::string& name);

}  // namespace remotecl::proof
