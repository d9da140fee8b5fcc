#include "runtime/containment/device_files.h"

#include <glob.h>

namespace remotecl {

std::vector<std::string> device_files() {
  glob_t found{};
  int flags = 0;
  for (const char* const pattern : {"/dev/nvidia*", "/dev/dri", "/dev/kfd", "/dev/accel", "/dev/dxg", "/dev/mali*"}) {
    ::glob(pattern, flags, nullptr, &found);
    flags = GLOB_APPEND;
  }
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return files;
}

}  // namespace remotecl
