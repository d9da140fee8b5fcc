#pragma once

#include <filesystem>
#include <string_view>

namespace remotecl::server {

// Whether a compiler that splits its options at blanks could not be given such a path.
bool breaks_options(std::string_view path);

// TMPDIR or /tmp; a path that a compiler can be given.
std::filesystem::path temporary_folder();

}  // namespace remotecl::server
