#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "runtime/base/mutex.h"
#include "runtime/transport/tcp/tcp.h"
#include "runtime/transport/tls/tls.h"
#include "server/admission/incoming_connection.h"
#include "server/admission/rejection_counts.h"

namespace remotecl::server {

// The daemon's port. Accepts connections and reads their Hello, through TLS if the daemon uses it. Each
// connection has a thread, so that no client waits for another one's handshake. Owned by the server; any
// thread.
class Acceptor {
 public:
  // Called on the connection's thread, which ends afterwards.
  using Serve = std::function<void(IncomingConnection&)>;

  // Listens at the address, and at the operators' socket beside its port. `tls` (null for no TLS) and `refusals` must
  // outlive this. Throws ConnectionError.
  Acceptor(const Address& address, const TlsServer* tls, std::uint64_t epoch, RejectionCounts& refusals, Serve serve);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Starts accepting. Call it once.
  void start();

  Address address() const { return listener_.address(); }
  // All present connections, including those being served.
  std::size_t connections() const EXCLUDES(mutex_);

  // Stops accepting, and ends connections that are still in their handshake.
  void close();
  // Waits for the threads of all connections. Returns false if some are left at `end`.
  bool wait(std::chrono::steady_clock::time_point end) EXCLUDES(mutex_);

 private:
  void accept_all(tcp::Listener& listener);
  void begin(std::unique_ptr<Connection> connection);
  void serve(std::unique_ptr<Connection> connection, PendingHandshakes::Slot slot) EXCLUDES(mutex_);
  void shake_hands(IncomingConnection& incoming);
  // The connection below TLS, to answer a peer before its TLS handshake.
  Connection& plain(Connection& connection) const;
  void refuse(Connection& connection, Refusal why, WelcomeStatus status, std::string_view text);
  void refuse_for(const std::string& lack, Connection& connection);

  const TlsServer* const tls_;
  const std::uint64_t epoch_;
  RejectionCounts& refusals_;
  const Serve serve_;
  PendingHandshakes pending_handshakes_;
  tcp::Listener listener_;
  const std::unique_ptr<tcp::Listener> for_operators_;  // null if another daemon has the name

  mutable Mutex mutex_;
  ConditionVariable thread_left_;
  std::size_t threads_ GUARDED_BY(mutex_) = 0;
  std::thread acceptor_, acceptor_for_operators_;
};

}  // namespace remotecl::server
