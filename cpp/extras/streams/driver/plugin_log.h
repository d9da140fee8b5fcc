#pragma once

#include <string>

#define REMOTECL_PLUGIN_LOG_FUNCTION "remotecl_set_plugin_log"

namespace remotecl::plugins {

using LogSink = void (*)(const char* line);

// Writes to the daemon's log, at most a few lines a second. Lines are kept until the daemon has set its sink.
void log_line(const std::string& line);
// The function that the daemon finds under REMOTECL_PLUGIN_LOG_FUNCTION, by clGetExtensionFunctionAddressForPlatform().
void set_log(LogSink sink);

}  // namespace remotecl::plugins
