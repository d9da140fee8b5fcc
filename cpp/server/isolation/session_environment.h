#pragma once

#include <string>
#include <vector>

namespace remotecl::server {

// The environment, as "NAME=VALUE", for a session's process whose own folder is `folder`. It contains the
// variables of this process that a driver, a compiler or remotecl may need, and no others, because those may
// hold secrets. Homes, caches and temporary files are in the folder.
std::vector<std::string> session_environment(const std::string& folder);

// The folder below `folder` where drivers cache files.
std::string cache_folder(const std::string& folder);

// Paths that sessions' processes must read besides the system's own folders: the drivers that the environment
// names, and the files that come with them. Never includes the user's home or a folder that contains it.
std::vector<std::string> driver_paths();

}  // namespace remotecl::server
