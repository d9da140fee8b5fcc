#pragma once

#include <string>

#define REMOTECL_PLUGIN_LOG_FUNCTION "remotecl_set_plugin_log"

namespace remotecl::plugins {

using LogSink = void (*)(const char* line);

// To the daemon's log, no more than some lines a second. Kept until the daemon has given its sink.
void log_line(const std::string& line);
// The function that the daemon finds under REMOTECL_PLUGIN_LOG_FUNCTION, by clGetExtensionFunctionAddressForPlatform().
void set_log(LogSink sink);

}  // namespace remotecl::plugins
