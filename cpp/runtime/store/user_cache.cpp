#include "runtime/store/user_cache.h"

#include <cstdlib>

namespace remotecl {
namespace {

// "All paths set in these environment variables must be absolute. If [one] is relative [it should be ignored]."
std::filesystem::path absolute(const char* path) { return path != nullptr && path[0] == '/' ? path : ""; }

}  // namespace

std::filesystem::path user_cache() {
  std::filesystem::path cache = absolute(std::getenv("XDG_CACHE_HOME"));
  const std::filesystem::path home = absolute(std::getenv("HOME"));
  if (cache.empty() && !home.empty()) cache = home / ".cache";
  return cache.empty() ? cache : cache / "remotecl";
}

}  // namespace remotecl
