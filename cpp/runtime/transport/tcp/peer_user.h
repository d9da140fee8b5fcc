#pragma once

#include <sys/types.h>

#include <optional>

#include "runtime/transport/connection.h"

namespace remotecl::tcp {

// Whose process of this machine is at the other end of a connection, as the kernel knows it. Empty for one of another
// machine, or of another network namespace, and where that cannot be known.
std::optional<uid_t> peer_user(const Connection& connection);

}  // namespace remotecl::tcp
