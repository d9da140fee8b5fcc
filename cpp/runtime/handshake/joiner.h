#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "runtime/handshake/handshake.h"

namespace remotecl {

// What a further connection of a session or link asks the other side for.
struct JoinRequest {
  Role role;
  Invitation invitation;
  std::uint64_t features = 0;
  bool is_stranger = false;  // nobody has shown that a server is at the address
  // The connection carries on a stream, of which this side has received so many bytes.
  std::optional<std::uint64_t> received = {};
};

// What the other side has agreed to.
struct Acceptance {
  std::uint64_t features = 0;  // those that it has taken
  std::uint64_t received = 0;  // bytes of the stream that it has, if the connection carries one on
  Secret stripes_key{};        // for further connections of the same stream
};

// The handshake that the request asks for. Throws like the handshakes.
Acceptance join(Connection& connection, const Address& address, const JoinRequest& request, Deadline deadline);

// A connection that the other side has accepted.
struct Joined {
  std::shared_ptr<Connection> connection;
  Acceptance taken;
};

// Makes a connection without its handshake. Establishing TLS may take until the deadline. Throws
// ConnectionError.
using Dial = std::function<std::shared_ptr<Connection>(std::chrono::milliseconds timeout, Deadline deadline)>;

// There is no connection for the handshake.
class NotConnected : public NoServer {
 public:
  using NoServer::NoServer;
};

// Makes a connection with its handshake, which ends at a request to stop. Throws ConnectionError, StreamGone.
using Joiner = std::function<Joined(const JoinRequest& request, std::chrono::milliseconds timeout, Deadline deadline,
                                    const std::stop_token& stop)>;

// Joins over connections that `dial` makes.
Joiner join_by(Dial dial, Address address);

}  // namespace remotecl
