#pragma once

#include <string>

namespace remotecl {

// Reads a file that only its owner may read or change (a file of another owner may be readable by its group).
// Throws ConnectionError that calls it a `kind` and names the cause and the remedy.
std::string read_private_file(const std::string& path, const std::string& kind, std::size_t size_max);

// The same for a file that is not secret.
std::string read_public_file(const std::string& path, const std::string& kind, std::size_t size_max);

}  // namespace remotecl
