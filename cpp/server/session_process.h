#pragma once

#include <string_view>

namespace remotecl::server {

// What a process does that serves one session of a daemon that isolates them: opens the drivers of these devices, waits
// for a session on its channel, serves it, and ends. The process's exit code, if it ever returns.
int run_session_process(std::string_view devices);

}  // namespace remotecl::server
