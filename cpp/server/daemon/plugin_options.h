#pragma once

#include <string>
#include <vector>

namespace remotecl::server {

// The options for plugins.
struct PluginOptions {
  std::vector<std::string> files;
  std::vector<std::string> folders;
  std::vector<std::string> rules;  // what they may open
  bool has_streams = false;        // the plugins that come with the daemon
  bool is_in_process = false;
  std::string filter = "allow";  // a name of CallFilter, for their system calls
  std::string user;              // whose their processes are, where the daemon is root's
  unsigned limit_s = 30;
  unsigned instances = 64;

  bool is_used() const { return has_streams || !files.empty() || !folders.empty(); }
};

}  // namespace remotecl::server
