#pragma once

#include "runtime/protocol/frames.h"
#include "runtime/transport/address.h"
#include "runtime/transport/connection.h"

namespace remotecl {

// The first words of whoever made a connection, a client or a server to its peer: says hello and waits for the welcome.
// Throws ConnectionError that names `address`, the cause and the remedy.
Welcome greet(Connection& connection, const Address& address, Role role, std::uint64_t session, const Secret& secret,
              std::uint64_t features = 0);

}  // namespace remotecl
