#pragma once

#include <sys/types.h>

#include <optional>

#include "runtime/transport/connection.h"

namespace remotecl::tcp {

// The user whose process has connected, or listens, at the other end of a Unix socket, as the kernel knows it. Empty
// for all other connections: whoever has a TCP socket may have got it from somebody else.
std::optional<uid_t> peer_user(const Connection& connection);

}  // namespace remotecl::tcp
