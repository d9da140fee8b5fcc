#include "extras/streams/setup/plugin_setup.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "extras/streams/instance/plugin_settings.h"

namespace remotecl::server {
namespace fs = std::filesystem;
namespace {

void add_file(std::vector<std::string>& plugins, const fs::path& file) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error) throw std::invalid_argument("the plugin " + file.string() + " cannot be opened: " + error.message());
  if (std::find(plugins.begin(), plugins.end(), real) == plugins.end()) plugins.push_back(real.string());
}

void add_folder(std::vector<std::string>& plugins, const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".so") files.push_back(at->path());
  }
  if (error) throw std::invalid_argument("--plugins " + folder.string() + ": " + error.message());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) add_file(plugins, file);
}

// In the package and in the build folder, bin/ has the programs, and lib/ beside it the libraries.
fs::path own_folder() { return fs::canonical("/proc/self/exe").parent_path(); }

fs::path existing(const fs::path& file) {
  if (fs::exists(file)) return file;
  throw std::invalid_argument("this installation lacks " + file.string() + ", which plugins need: install it again");
}

}  // namespace

std::optional<std::string> set_up_plugins(const PluginOptions& options) {
  if (!options.is_used()) {
    ::unsetenv(plugins::PluginSettings::kVariable);
    if (options.rules.empty()) return std::nullopt;
    throw std::invalid_argument("--plugin-allow does nothing without --streams, --plugins or --plugin");
  }
  plugins::PluginSettings settings;
  const fs::path bin = own_folder(), lib = bin.parent_path() / "lib";
  if (options.has_streams) add_folder(settings.plugins, existing(lib / "remotecl-plugins"));
  for (const std::string& folder : options.folders) add_folder(settings.plugins, folder);
  for (const std::string& file : options.files) add_file(settings.plugins, file);
  for (const std::string& rule : options.rules) {
    if (rule.find('\n') != std::string::npos) throw std::invalid_argument("--plugin-allow takes one line");
    settings.rules.push_back(rule);
  }
  settings.host = existing(bin / "remotecl-plugin-host").string();
  settings.filter = options.filter;
  settings.user = options.user;
  settings.is_in_process = options.is_in_process;
  settings.call_limit = std::chrono::seconds(options.limit_s);
  settings.instances_max = options.instances;
  ::setenv(plugins::PluginSettings::kVariable, plugins::settings_text(settings).c_str(), 1);
  return existing(lib / "libremotecl_sources.so").string();
}

}  // namespace remotecl::server
