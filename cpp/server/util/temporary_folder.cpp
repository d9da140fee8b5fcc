#include "server/util/temporary_folder.h"

#include <cstdlib>

namespace remotecl::server {

bool breaks_options(std::string_view path) { return path.find_first_of(" \t\"'\\") != std::string_view::npos; }

std::filesystem::path temporary_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder == '/' && !breaks_options(folder) ? folder : "/tmp";
}

}  // namespace remotecl::server
