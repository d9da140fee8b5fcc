#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "extras/streams/boundary/description.h"
#include "extras/streams/instance/instance.h"
#include "extras/streams/instance/local_plugin.h"
#include "extras/streams/instance/plugin_settings.h"

namespace remotecl::plugins {

// One device of one plugin.
struct CatalogueEntry {
  DeviceDescription device;
  std::string plugin;                        // its file
  int index = 0;                             // among the plugin's devices
  std::shared_ptr<const LocalPlugin> local;  // where plugins are in this process
};

// The devices of all plugins that the operator names. Outlives its instances. Any thread.
class Catalogue {
 public:
  explicit Catalogue(PluginSettings settings);
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

  const std::vector<CatalogueEntry>& entries() const { return entries_; }
  // Plugins that cannot be used, or whose processes are not contained, each with its cause.
  const std::vector<std::string>& problems() const { return problems_; }

  // Null if there are too many already. What it returns counts as long as it lives.
  std::shared_ptr<Instance> open(const CatalogueEntry& entry);

 private:
  void add(const std::string& plugin);

  const PluginSettings settings_;
  std::vector<CatalogueEntry> entries_;
  std::vector<std::string> problems_;
  std::atomic<unsigned> instances_{0};
};

}  // namespace remotecl::plugins
