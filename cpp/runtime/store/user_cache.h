#pragma once

#include <filesystem>

namespace remotecl {

// Where this user's programs keep what they could make again: remotecl below $XDG_CACHE_HOME or $HOME/.cache. Empty if
// neither is an absolute path.
std::filesystem::path user_cache();

}  // namespace remotecl
