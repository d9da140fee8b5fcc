#pragma once

#include <string>
#include <vector>

namespace remotecl {

// The device files of this machine's GPUs, and of other devices that OpenCL has drivers for.
std::vector<std::string> device_files();

}  // namespace remotecl
