#pragma once

#include <string>

namespace remotecl {

// One line on stderr about a server that cannot be used: OpenCL has no error text, so nothing else would tell the user
// why. Silent when REMOTECL_LOG is "off".
void notice(const std::string& text);

}  // namespace remotecl
