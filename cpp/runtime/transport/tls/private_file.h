#pragma once

#include <string>

namespace remotecl {

// The content of a file that nobody but its owner may read or change (its group may read what belongs to somebody
// else). Throws ConnectionError that calls it a `kind` and names cause and remedy.
std::string read_private_file(const std::string& path, const std::string& kind, std::size_t size_max);

// The same for a file that is no secret.
std::string read_public_file(const std::string& path, const std::string& kind, std::size_t size_max);

}  // namespace remotecl
