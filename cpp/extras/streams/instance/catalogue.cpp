#include "extras/streams/instance/catalogue.h"

#include <stdexcept>

#include "extras/streams/instance/plugin_process.h"

namespace remotecl::plugins {

Catalogue::Catalogue(PluginSettings settings) : settings_(std::move(settings)) {
  for (const std::string& plugin : settings_.plugins) {
    try {
      add(plugin);
    } catch (const std::runtime_error& error) {
      problems_.push_back("the plugin " + plugin + " cannot be used: " + error.what());
    }
  }
}

void Catalogue::add(const std::string& plugin) {
  std::shared_ptr<const LocalPlugin> local;
  PluginDescription description;
  if (settings_.is_in_process) {
    local = std::make_shared<LocalPlugin>(plugin, settings_.rules);
    description = local->description();
  } else {
    const PluginProcess process(settings_, plugin, PluginProcess::kNoDevice);
    description = process.description();
    if (!process.lacks().empty()) {
      problems_.push_back("processes of " + plugin + " are not contained as they should be: " + process.lacks());
    }
  }
  for (std::size_t i = 0; i < description.devices.size(); ++i) {
    entries_.push_back({std::move(description.devices[i]), plugin, static_cast<int>(i), local});
  }
}

std::shared_ptr<Instance> Catalogue::open(const CatalogueEntry& entry) {
  if (++instances_ > settings_.instances_max) {
    --instances_;
    return nullptr;
  }
  std::unique_ptr<Instance> instance;
  if (entry.local != nullptr) {
    instance = std::make_unique<LocalInstance>(entry.local, static_cast<std::uint32_t>(entry.index));
  } else {
    instance = std::make_unique<ProcessInstance>(settings_, entry.plugin, entry.index);
  }
  return {instance.release(), [this](Instance* ended) {
            delete ended;
            --instances_;
          }};
}

}  // namespace remotecl::plugins
