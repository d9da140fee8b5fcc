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

// For how long whoever connects waits for the other side. One that has not said a word may be anything. One that has
// shown to be a server, and whose connection stands, may be stopped or very busy: it has as long as a lost connection
// is tried again.
struct Patience {
  Deadline first_word;
  Deadline server;

  // From now on; `window` as of reconnect_window().
  static Patience of(std::chrono::milliseconds window = {});
  // Of a server that has been spoken to before.
  static Deadline of_server(std::chrono::milliseconds window) { return of(window).server; }
};

// Some bytes that have come in time; 0: there are none. What is there is read although the deadline has passed: it may
// be this process that was stopped.
std::size_t read_some_before(Connection& connection, MutableBytes to, Deadline deadline);
// Exactly to.size() bytes; false when they have not come in time, however slowly some of them do.
bool read_before(Connection& connection, MutableBytes to, Deadline deadline);

// What a server says for people behind a Welcome. It may mean harm: nothing in it can control a terminal.
std::string read_text(Connection& connection, const Welcome& welcome, Deadline deadline);

// The first words of a client on its control connection, or of a monitor. With a token both prove that they know it,
// and the welcome's secret, which is the session's, has not travelled. Throws ConnectionError that names `address`, the
// cause and the remedy.
Welcome handshake_with_server(Connection& connection, const Address& address, const AccessToken* token,
                              Role role = Role::kControl, std::uint64_t features = 0,
                              Patience patience = Patience::of());

// Who is there has not shown to be a server.
class NoServer : public ConnectionError {
 public:
  using ConnectionError::ConnectionError;
};

// What somebody has to know to join a session that exists.
struct Invitation {
  std::uint64_t session;
  std::uint64_t epoch;
  Secret secret;
};

// The first words on a further connection of a session, or on one of a peer's: both prove that they know its secret.
// Throws ConnectionError.
Welcome handshake_for_session(Connection& connection, const Address& address, Role role, const Invitation& invitation,
                              std::uint64_t features = 0, Deadline deadline = Patience::of().server);
// The same where nobody has shown yet that the address is a server's. Throws NoServer, too.
Welcome handshake_as_stranger(Connection& connection, const Address& address, Role role, const Invitation& invitation,
                              std::uint64_t features, Deadline deadline);
// What nobody else knows after that: the secret of further connections that carry the same stream.
Secret stripes_key(const Invitation& invitation, Role role, std::uint64_t offered, std::uint64_t taken);

// There is nothing to go on with any more: trying again is of no use.
class StreamGone : public ConnectionError {
 public:
  using ConnectionError::ConnectionError;
};

// The first words on a connection that carries on the stream of that role. Both sides prove that they know the secret,
// over fresh nonces. Says how many bytes this side has received and returns what the other one has. Throws
// ConnectionError, StreamGone.
struct Resumption {
  std::uint64_t received;
  unsigned stripes;  // connections that the stream may go on over
  Secret stripes_key;
};
Resumption handshake_again(Connection& connection, const Address& address, Role role, const Invitation& invitation,
                           std::uint64_t received, std::uint64_t features = 0,
                           Deadline deadline = Patience::of().server);

// What proves to know the secret, in the Hello and in the Welcome.
Secret connecting_proof(const Secret& secret, const Hello& hello);
Secret accepting_proof(const Secret& secret, const Hello& hello, const Welcome& welcome);

// The features to ask for on a connection for bulk data.
std::uint64_t bulk_features();

// That connection after its welcome: through memory of both sides, if they agreed on it and can, else as it was. Throws
// ConnectionError.
std::unique_ptr<Connection> share_memory(std::unique_ptr<Connection> connection, const Address& address,
                                         const Welcome& welcome, std::chrono::milliseconds window);

}  // namespace remotecl
