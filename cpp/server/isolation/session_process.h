#pragma once

#include <string_view>

#include "server/admission/peer_rules.h"
#include "server/isolation/containment.h"

namespace remotecl::server {

// What a process does that serves one session of a daemon that isolates them: contains itself, opens the drivers of
// these devices, waits for a session on its channel, serves it, and ends. The process's exit code, if it ever returns.
int run_session_process(std::string_view devices, const Containment& containment, const PeerRules& peers);

}  // namespace remotecl::server
