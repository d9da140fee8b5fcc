#pragma once

#include <string>
#include <vector>

namespace remotecl {

// What a process that uses libraries outside of the system's folders must be able to read. Paths are real ones, and
// never the user's home, /tmp or a folder that contains them.

// Adds a folder, if it exists.
void add_folder(std::vector<std::string>& paths, const std::string& folder);
// Adds a library, and what comes with it: its folder, or the folder of all Python packages, over which they spread.
// Ignores a library that does not exist or has no absolute path.
void add_library(std::vector<std::string>& paths, const std::string& library);
// Adds the libraries and folders that the loader's variables in the environment name.
void add_loader_paths(std::vector<std::string>& paths);

}  // namespace remotecl
