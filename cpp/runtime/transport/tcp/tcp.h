#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <system_error>

#include "runtime/transport/tcp/resolver.h"
#include "runtime/transport/tcp/stream_connection.h"

namespace remotecl::tcp {

// Connects, trying every address that the name resolves to; looking that up counts as a part of the time. Throws
// ConnectionError whose text names the address, the cause and the remedy.
std::unique_ptr<StreamConnection> connect(const Address& address, std::chrono::milliseconds timeout);

// Makes connect() get its sockets elsewhere, in a process that may make none itself: a connected one, or a
// ConnectionError. Before other threads.
using Connector = std::function<int(const Address&, std::chrono::milliseconds)>;
void connect_through(Connector connector);
// Whether somebody does, who then looks names up, too.
bool connects_elsewhere();

// Sets a connected or accepted socket for latency (no delay, keep-alive) and wraps it; takes the descriptor over.
std::unique_ptr<StreamConnection> adopt(int descriptor);

// Who is at the other end of a connection of this kind, as a number.
Address peer_address(const Connection& connection);

// Where a Listener on `address` would listen, without names. Throws ConnectionError.
Address resolve_local(const Address& address);

// A listening socket. accept() and close() may be called from different threads.
class Listener {
 public:
  // Port 0: the system chooses. Throws ConnectionError (port in use, not a local address, ...).
  explicit Listener(const Address& address);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  Address address() const;  // with the real port
  // Blocks for the next connection; null once close() was called. Goes on when it is out of descriptors, or of memory,
  // and tells `trouble` so at each attempt.
  using Trouble = std::function<void(const std::error_code&)>;
  std::unique_ptr<StreamConnection> accept(const Trouble& trouble = {});
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace remotecl::tcp
