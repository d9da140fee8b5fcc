#pragma once

#include <optional>
#include <string>

#include "server/daemon/plugin_options.h"

namespace remotecl::server {

// Passes the options to the plugins' driver through the environment of this process, so it must be called before the
// first OpenCL call and before any thread. Returns the driver's library; nothing if no plugins are wanted. Throws
// std::invalid_argument.
std::optional<std::string> set_up_plugins(const PluginOptions& options);

}  // namespace remotecl::server
