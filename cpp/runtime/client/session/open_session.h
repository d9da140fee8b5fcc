#pragma once

#include <cstdint>
#include <memory>

#include "runtime/client/session/session.h"

namespace remotecl {

// Connects to a server. An attempt that ends by a fault that may pass is repeated, as a lost connection is, within
// REMOTECL_RECONNECT's time; for a short while only if nothing there has shown to be a server. Throws ConnectionError.
std::unique_ptr<Session> open_session(SessionGroup& group, const ServerName& server, std::uint32_t index);

}  // namespace remotecl
