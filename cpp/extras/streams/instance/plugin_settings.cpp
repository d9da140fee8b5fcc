#include "extras/streams/instance/plugin_settings.h"

#include <cstdlib>
#include <sstream>

namespace remotecl::plugins {

std::string settings_text(const PluginSettings& settings) {
  std::ostringstream text;
  for (const std::string& plugin : settings.plugins) text << "plugin=" << plugin << '\n';
  for (const std::string& rule : settings.rules) text << "allow=" << rule << '\n';
  text << "host=" << settings.host << '\n';
  text << "filter=" << settings.filter << '\n' << "user=" << settings.user << '\n';
  text << "in-process=" << (settings.is_in_process ? 1 : 0) << '\n';
  text << "call-limit-ms=" << settings.call_limit.count() << '\n';
  text << "instances=" << settings.instances_max << '\n';
  return text.str();
}

PluginSettings parse_settings(std::string_view text) {
  PluginSettings settings;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals), value = line.substr(equals + 1);
    if (key == "plugin") settings.plugins.push_back(value);
    if (key == "allow") settings.rules.push_back(value);
    if (key == "host") settings.host = value;
    if (key == "filter") settings.filter = value;
    if (key == "user") settings.user = value;
    if (key == "in-process") settings.is_in_process = value == "1";
    if (key == "call-limit-ms") settings.call_limit = std::chrono::milliseconds(std::atoll(value.c_str()));
    if (key == "instances") settings.instances_max = static_cast<unsigned>(std::atoi(value.c_str()));
  }
  return settings;
}

}  // namespace remotecl::plugins
