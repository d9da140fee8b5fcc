#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace remotecl::plugins {

// The operator's settings for plugins. A value.
struct PluginSettings {
  // The daemon hands it to the driver in this variable of its own process: the driver is a library that the OpenCL
  // loader opens.
  static constexpr const char* kVariable = "REMOTECL_PLUGIN_DRIVER";

  std::vector<std::string> plugins;  // libraries
  std::vector<std::string> rules;    // what they may open
  std::string host;                  // remotecl-plugin-host
  bool is_in_process = false;
  std::chrono::milliseconds call_limit{30'000};
  unsigned instances_max = 64;
};

std::string settings_text(const PluginSettings& settings);
// Lines that it does not know are passed over.
PluginSettings parse_settings(std::string_view text);

}  // namespace remotecl::plugins
