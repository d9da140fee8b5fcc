#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "runtime/handshake/access_token.h"
#include "runtime/handshake/server_name.h"
#include "runtime/transport/connection.h"
#include "runtime/transport/tls/tls.h"

namespace remotecl {

// Connects to one server as its name asks: in plain text, or through TLS and then never without it. Any
// thread.
class Dialer {
 public:
  // Reads the files that the name refers to. Throws ConnectionError.
  explicit Dialer(const ServerName& server);

  const Address& address() const { return address_; }
  // Null if the name has none.
  const AccessToken* token() const { return token_ ? &*token_ : nullptr; }
  bool encrypts() const { return tls_.has_value(); }

  // Returns a connection that is ready for the handshake. Throws ConnectionError that names the server, the
  // cause and the remedy.
  std::unique_ptr<Connection> connect(std::chrono::milliseconds timeout) const;
  // The same, with a deadline for the TLS handshake.
  std::unique_ptr<Connection> connect(std::chrono::milliseconds timeout,
                                      std::chrono::steady_clock::time_point deadline) const;
  // The same for a monitor: over the operators' socket if that is here, so that the server knows whose process asks.
  std::unique_ptr<Connection> connect_for_monitor(std::chrono::milliseconds timeout) const;
  // The same in two steps, so that shutdown() can end the second one.
  std::unique_ptr<Connection> open(std::chrono::milliseconds timeout) const;
  void secure(Connection& connection, std::chrono::steady_clock::time_point deadline) const;

 private:
  std::unique_ptr<Connection> wrap(std::unique_ptr<StreamConnection> stream) const;

  const Address address_;
  std::optional<AccessToken> token_;
  std::optional<TlsClient> tls_;
};

}  // namespace remotecl
