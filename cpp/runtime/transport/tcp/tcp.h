#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <system_error>

#include "runtime/transport/tcp/resolver.h"
#include "runtime/transport/tcp/stream_connection.h"

namespace remotecl::tcp {

// Connects, trying all addresses that the name resolves to; the look-up is part of the time. Throws
// ConnectionError whose text names the address, the cause and the remedy.
std::unique_ptr<StreamConnection> connect(const Address& address, std::chrono::milliseconds timeout);

// Configures a connected or accepted socket (no delay, keep-alive) and wraps it. Takes the descriptor over.
// `kind`: as StreamConnection.
std::unique_ptr<StreamConnection> adopt(int descriptor, TransportKind kind = TransportKind::kTcp);

// The numeric address of the peer of a socket connection; that of a Unix socket is loopback, with port 0.
Address peer_address(const Connection& connection);

// Where a Listener on `address` would listen, as a numeric address. Throws ConnectionError.
Address resolve_local(const Address& address);

// A listening socket. Different threads may call accept() and close().
class Listener {
 public:
  // With port 0, the system chooses one. Throws ConnectionError (port in use, not a local address, ...).
  explicit Listener(const Address& address);
  // The operators' socket beside this TCP port. Throws std::system_error if somebody has it.
  static std::unique_ptr<Listener> for_operators(std::uint16_t port);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  Address address() const;  // with the port actually used
  // Blocks until the next connection; returns null once close() was called. If descriptors or memory run out,
  // keeps trying, and reports each failed attempt to `trouble`. A connection that has waited for some seconds is given
  // to it in a descriptor that was kept for that, to be told why it is closed; otherwise null.
  using Trouble = std::function<void(const std::error_code&, StreamConnection*)>;
  std::unique_ptr<StreamConnection> accept(const Trouble& trouble = {});
  void close();

 private:
  struct State;
  explicit Listener(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace remotecl::tcp
