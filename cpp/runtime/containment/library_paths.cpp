#include "runtime/containment/library_paths.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>

namespace remotecl {
namespace fs = std::filesystem;
namespace {

std::string setting(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> split(const std::string& list, const char* separators) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find_first_of(separators, at), list.size());
    if (end != at) parts.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

fs::path real_path(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? fs::path() : real;
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

bool is_too_much(const fs::path& folder) {
  const passwd* const account = ::getpwuid(::getuid());
  const fs::path homes[] = {real_path(setting("HOME")), real_path(account == nullptr ? "" : account->pw_dir), "/tmp"};
  return std::any_of(std::begin(homes), std::end(homes),
                     [&folder](const fs::path& home) { return !home.empty() && lies_in(home, folder); });
}

fs::path package_folder(const fs::path& folder) {
  fs::path path;
  for (const fs::path& part : folder) {
    path /= part;
    if (part == "site-packages" || part == "dist-packages") return path;
  }
  return folder;
}

}  // namespace

void add_folder(std::vector<std::string>& paths, const std::string& folder) {
  const fs::path real = real_path(folder);
  if (!real.empty() && !is_too_much(real)) paths.push_back(real.string());
}

void add_library(std::vector<std::string>& paths, const std::string& library) {
  const fs::path real = real_path(library);
  if (real.empty() || !library.starts_with('/')) return;
  paths.push_back(real.string());
  add_folder(paths, package_folder(real.parent_path()).string());
}

void add_loader_paths(std::vector<std::string>& paths) {
  for (const std::string& library : split(setting("LD_PRELOAD"), ": ")) add_library(paths, library);
  for (const std::string& folder : split(setting("LD_LIBRARY_PATH"), ":")) add_folder(paths, folder);
}

}  // namespace remotecl
