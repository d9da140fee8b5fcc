#pragma once

#include <string>

namespace remotecl {

// Prints one line on stderr about a server that cannot be used. OpenCL has no error texts, so the user would
// not learn the reason otherwise. Silent if REMOTECL_LOG is "off".
void notice(const std::string& text);

}  // namespace remotecl
