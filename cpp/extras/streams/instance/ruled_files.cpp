#include "extras/streams/instance/ruled_files.h"

#include <sys/stat.h>

namespace remotecl::plugins {

std::string path_of_rule(const std::string& rule) {
  const std::size_t colon = rule.find(':');
  if (colon == std::string::npos) return {};
  std::string rest = rule.substr(colon + 1);
  if (rest.starts_with('/')) return rest;
  const bool is_memory = rule.substr(0, colon) == "memory" && !rest.empty() && rest.find('/') == std::string::npos;
  return is_memory ? "/dev/shm/" + rest : "";
}

RuledFiles::RuledFiles(const std::vector<std::string>& rules) {
  for (const std::string& rule : rules) {
    const std::string path = path_of_rule(rule);
    struct stat status {};
    if (path.empty()) continue;
    auto& file = files_.emplace_back();
    if (::stat(path.c_str(), &status) == 0) file = {status.st_dev, status.st_ino};
  }
}

}  // namespace remotecl::plugins
