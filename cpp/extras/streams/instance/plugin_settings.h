#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace remotecl::plugins {

// The operator's settings for plugins. A value.
struct PluginSettings {
  // The daemon passes the settings to the driver in this environment variable of its own process, because the driver is
  // a library that the OpenCL loader opens.
  static constexpr const char* kVariable = "REMOTECL_PLUGIN_DRIVER";

  std::vector<std::string> plugins;  // libraries
  std::vector<std::string> rules;    // what they may open
  std::string host;                  // remotecl-plugin-host
  std::string filter = "allow";      // a name of CallFilter, for its system calls
  std::string user{};                // that it becomes if the daemon is root's; see confine()
  bool is_in_process = false;
  std::chrono::milliseconds call_limit{30'000};
  unsigned instances_max = 64;
};

std::string settings_text(const PluginSettings& settings);
// Ignores unknown lines.
PluginSettings parse_settings(std::string_view text);

}  // namespace remotecl::plugins
