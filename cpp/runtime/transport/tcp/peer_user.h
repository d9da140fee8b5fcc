#pragma once

#include <sys/types.h>

#include <optional>

#include "runtime/transport/connection.h"

namespace remotecl::tcp {

// The user whose process on this machine is at the other end of a connection, as the kernel knows it. Empty
// if the other end is on another machine or in another network namespace, or if it is unknown.
std::optional<uid_t> peer_user(const Connection& connection);

}  // namespace remotecl::tcp
