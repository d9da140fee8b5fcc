#pragma once

#include <memory>

#include "runtime/protocol/frames.h"
#include "runtime/transport/address.h"
#include "runtime/transport/connection.h"

namespace remotecl {

// The first words of whoever made a connection, a client or a server to its peer: says hello and waits for the welcome.
// Throws ConnectionError that names `address`, the cause and the remedy.
Welcome greet(Connection& connection, const Address& address, Role role, std::uint64_t session, const Secret& secret,
              std::uint64_t features = 0);

// The features to ask for on a connection for bulk data.
std::uint64_t bulk_features();

// That connection after its welcome: through memory of both sides, if they agreed on it and can, else as it was. Throws
// ConnectionError.
std::unique_ptr<Connection> share_memory(std::unique_ptr<Connection> connection, const Address& address,
                                         const Welcome& welcome);

}  // namespace remotecl
