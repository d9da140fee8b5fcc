#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace remotecl::plugins {

// The path of a file, folder or device that a rule names ("read:/data", "memory:NAME"); empty if it names none.
std::string path_of_rule(const std::string& rule);

// Which files, folders and devices the paths of rules lead to at present. A value.
class RuledFiles {
 public:
  RuledFiles() = default;
  explicit RuledFiles(const std::vector<std::string>& rules);
  bool operator==(const RuledFiles&) const = default;

 private:
  std::vector<std::optional<std::pair<dev_t, ino_t>>> files_;
};

}  // namespace remotecl::plugins
