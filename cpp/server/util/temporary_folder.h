#pragma once

#include <filesystem>
#include <string_view>

namespace remotecl::server {

// Whether this path would break a compiler that splits its options at blanks.
bool breaks_options(std::string_view path);

// TMPDIR, or /tmp if TMPDIR is unset or would break a compiler's options.
std::filesystem::path temporary_folder();

}  // namespace remotecl::server
