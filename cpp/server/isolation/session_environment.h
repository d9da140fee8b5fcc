#pragma once

#include <string>
#include <vector>

namespace remotecl::server {

// The environment for a session's process whose own folder is `folder`, as "NAME=VALUE": of this process's what a
// driver, a compiler or remotecl may want to know, and nothing else, as it may hold secrets; with homes, caches and
// temporary files in that folder.
std::vector<std::string> session_environment(const std::string& folder);

// What sessions' processes have to read beside the system's own folders: drivers that the environment names, and what
// these come with. Never a folder that the user's home lies in, nor that home.
std::vector<std::string> driver_paths();

}  // namespace remotecl::server
