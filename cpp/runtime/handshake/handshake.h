#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "runtime/handshake/access_token.h"
#include "runtime/protocol/frames.h"
#include "runtime/transport/address.h"
#include "runtime/transport/connection.h"

namespace remotecl {

using Deadline = std::chrono::steady_clock::time_point;
inline Deadline handshake_deadline() {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(kHandshakeTimeoutMs);
}

// How long the connecting side waits for the other side. A peer that has sent nothing yet may be any program.
// A peer that has shown to be a server, and whose connection stands, may be stopped or very busy: it has as
// long as a lost connection is retried.
struct Patience {
  Deadline first_word;
  Deadline server;

  // Starting now; `window` as returned by reconnect_window().
  static Patience of(std::chrono::milliseconds window = {});
  // For a server that has answered before.
  static Deadline of_server(std::chrono::milliseconds window) { return of(window).server; }
};

// Reads some bytes before the deadline; returns 0 if there are none. Bytes that are already there are read
// even after the deadline, because it may be this process that was stopped.
std::size_t read_some_before(Connection& connection, MutableBytes to, Deadline deadline);
// Reads exactly to.size() bytes. Returns false if they do not all arrive before the deadline.
bool read_before(Connection& connection, MutableBytes to, Deadline deadline);

// The text, meant for people, that a server sends after a Welcome. The server may be malicious, so the text
// cannot control a terminal.
std::string read_text(Connection& connection, const Welcome& welcome, Deadline deadline);

// The handshake of a client's control connection, or of a monitor. With a token, both sides prove that they
// know it, and the Welcome's secret, which is the session's, is derived instead of sent. Throws
// ConnectionError that names `address`, the cause and the remedy.
Welcome handshake_with_server(Connection& connection, const Address& address, const AccessToken* token,
                              Role role = Role::kControl, std::uint64_t features = 0,
                              Patience patience = Patience::of());

// The peer has not shown that it is a server.
class NoServer : public ConnectionError {
 public:
  using ConnectionError::ConnectionError;
};

// The knowledge with which a connection joins an existing session.
struct Invitation {
  std::uint64_t session;
  std::uint64_t epoch;
  Secret secret;
};

// The handshake of a further connection of a session, or of a peer: both sides prove that they know its
// secret. Throws ConnectionError.
Welcome handshake_for_session(Connection& connection, const Address& address, Role role, const Invitation& invitation,
                              std::uint64_t features = 0, Deadline deadline = Patience::of().server);
// The same for an address that nobody has shown to be a server's. Throws NoServer too.
Welcome handshake_as_stranger(Connection& connection, const Address& address, Role role, const Invitation& invitation,
                              std::uint64_t features, Deadline deadline);
// A secret that only the two sides of that handshake know: the key for further connections of the same
// stream.
Secret stripes_key(const Invitation& invitation, Role role, std::uint64_t offered, std::uint64_t taken);

// The same for RDMA connections beside that stream.
Secret rdma_key(const Invitation& invitation, Role role, std::uint64_t offered, std::uint64_t taken);

// The stream cannot be resumed; trying again is useless.
class StreamGone : public ConnectionError {
 public:
  using ConnectionError::ConnectionError;
};

// The handshake of a connection that resumes the stream of that role. Both sides prove that they know the
// secret, over fresh nonces. Sends how many bytes this side has received, and returns how many the other side
// has. Throws ConnectionError, StreamGone.
struct Resumption {
  std::uint64_t received;
  unsigned stripes;  // connections that the stream may use from now on
  Secret stripes_key;
};
Resumption handshake_again(Connection& connection, const Address& address, Role role, const Invitation& invitation,
                           std::uint64_t received, std::uint64_t features = 0,
                           Deadline deadline = Patience::of().server);

// The proofs of knowing the secret, in the Hello and in the Welcome.
Secret connecting_proof(const Secret& secret, const Hello& hello);
Secret accepting_proof(const Secret& secret, const Hello& hello, const Welcome& welcome);

// The features to request on a bulk connection.
std::uint64_t bulk_features();

// The error if a known server did not answer before the deadline, or closed the connection.
ConnectionError silent_server(const Address& address, Deadline deadline, Deadline since);

}  // namespace remotecl
