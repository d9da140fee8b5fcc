#include "extras/streams/instance/local_plugin.h"

#include <dlfcn.h>

#include <stdexcept>

namespace remotecl::plugins {
namespace {

// What a plugin says of a call, safe even if it has left no terminated text in `why`.
Outcome outcome_of(std::int32_t code, char (&why)[REMOTECL_PLUGIN_WHY_MAX + 1]) {
  why[REMOTECL_PLUGIN_WHY_MAX] = '\0';
  if (code == 0) return {};
  return {code < 0 ? code : kOutOfResources, why[0] == '\0' ? "the plugin gives no cause" : printable_cause(why)};
}

}  // namespace

LocalPlugin::LocalPlugin(const std::string& file, const std::vector<std::string>& rules) : rules_(rules) {
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(::dlerror());
  const auto get = reinterpret_cast<decltype(&remotecl_plugin_get)>(::dlsym(library, "remotecl_plugin_get"));
  if (get == nullptr) throw std::runtime_error("it has no function remotecl_plugin_get");
  for (const std::string& rule : rules_) rule_pointers_.push_back(rule.c_str());
  host_ = {sizeof host_, REMOTECL_PLUGIN_VERSION, static_cast<std::uint32_t>(rules_.size()), rule_pointers_.data()};
  plugin_ = get(&host_);
  if (plugin_ == nullptr) throw std::runtime_error("it says that it cannot work on this machine");
  try {
    description_ = describe(*plugin_);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(error.what());
  }
}

LocalInstance::~LocalInstance() {
  if (is_open_) plugin_->functions().close(instance_);
}

Outcome LocalInstance::open() {
  if (is_open_) return {};
  char why[REMOTECL_PLUGIN_WHY_MAX + 1] = {};
  Outcome outcome = outcome_of(plugin_->functions().open(device_, &instance_, why), why);
  is_open_ = outcome.is_good();
  return outcome;
}

Outcome LocalInstance::execute(const Call& call) {
  if (Outcome opened = open(); !opened.is_good()) return opened;
  remotecl_plugin_data arguments[REMOTECL_PLUGIN_ARGUMENTS_MAX] = {};
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    arguments[i] = {call.arguments[i].data, call.arguments[i].size};
  }
  char why[REMOTECL_PLUGIN_WHY_MAX + 1] = {};
  const remotecl_plugin_call made{sizeof made, call.kernel, static_cast<std::uint32_t>(call.arguments.size()),
                                  arguments, why};
  return outcome_of(plugin_->functions().execute(instance_, &made), why);
}

}  // namespace remotecl::plugins
