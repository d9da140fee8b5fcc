#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "extras/streams/boundary/description.h"
#include "extras/streams/instance/instance.h"

namespace remotecl::plugins {

// A plugin in this process. Stays loaded as long as its owner lives: threads of it may still run. Shared by its
// instances; safe for any thread once it is made.
class LocalPlugin {
 public:
  // Throws std::runtime_error with the cause.
  LocalPlugin(const std::string& file, const std::vector<std::string>& rules);
  LocalPlugin(const LocalPlugin&) = delete;
  LocalPlugin& operator=(const LocalPlugin&) = delete;

  const PluginDescription& description() const { return description_; }
  const remotecl_plugin& functions() const { return *plugin_; }

 private:
  const std::vector<std::string> rules_;
  std::vector<const char*> rule_pointers_;
  remotecl_plugin_host host_{};
  const remotecl_plugin* plugin_ = nullptr;
  PluginDescription description_;
};

class LocalInstance final : public Instance {
 public:
  LocalInstance(std::shared_ptr<const LocalPlugin> plugin, std::uint32_t device)
      : plugin_(std::move(plugin)), device_(device) {}
  ~LocalInstance() override;
  // Opens the device if it is not open. execute() does so, too.
  Outcome open();
  Outcome execute(const Call& call) override;

 private:
  const std::shared_ptr<const LocalPlugin> plugin_;
  const std::uint32_t device_;
  void* instance_ = nullptr;
  bool is_open_ = false;
};

}  // namespace remotecl::plugins
