#pragma once

#include <optional>
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

// Passes the options to the plugins' driver through the environment of this process, so it must be called before the
// first OpenCL call and before any thread. Returns the driver's library; nothing if no plugins are wanted. Throws
// std::invalid_argument.
std::optional<std::string> set_up_plugins(const PluginOptions& options);

}  // namespace remotecl::server
