#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "runtime/base/mutex.h"
#include "runtime/handshake/access_token.h"
#include "runtime/handshake/bulk_offload.h"
#include "runtime/store/store.h"
#include "runtime/transport/tls/tls.h"
#include "server/admission/acceptor.h"
#include "server/admission/handshake.h"
#include "server/admission/incoming_connection.h"
#include "server/admission/own_ports.h"
#include "server/admission/peer_rules.h"
#include "server/admission/rejection_counts.h"
#include "server/admission/users.h"
#include "server/daemon/metrics.h"
#include "server/driver/native_driver.h"
#include "server/isolation/child_process.h"
#include "server/session/host.h"
#include "server/session/shared.h"
#include "server/status/status_collector.h"

namespace remotecl::server {

// The daemon. Decides which of the clients that its Acceptor lets through get a session, and hands these to
// its Host. Owned by main() or a test, which also calls stop().
class Server {
 public:
  // The provider is destroyed before the ports, to which nothing may be connected.
  using Provide = std::function<std::unique_ptr<ArgumentProvider>(const OwnPorts&)>;

  // Starts listening and accepting. If `token` is given or users have tokens, clients must prove that they know one.
  // With `tls`, connections must use TLS. With `isolation`, each session has a process of its own, started by this
  // command. `peers` says which servers may be linked. `store`, if not null, keeps built programs. `rdma` is null if
  // bulk data does not go by RDMA. Both must outlive the server. `provide` is null if
  // kernels have no other arguments than buffers. Throws NoDevice, ConnectionError, LimitsError.
  Server(const Address& address, const DeviceSelection& devices, std::optional<AccessToken> token = {},
         std::optional<TlsServer> tls = {}, LimitsTable limits = {}, std::optional<ProcessCommand> isolation = {},
         PeerRules peers = {}, Store* store = nullptr, BulkOffloadAcceptor* rdma = nullptr,
         const Provide& provide = nullptr);
  // The same, for a choice that depends on the devices.
  using ChooseIsolation = std::function<std::optional<ProcessCommand>(const NativeDriver&)>;
  Server(const Address& address, const DeviceSelection& devices, std::optional<AccessToken> token,
         std::optional<TlsServer> tls, LimitsTable limits, const ChooseIsolation& choose, PeerRules peers = {},
         Store* store = nullptr, BulkOffloadAcceptor* rdma = nullptr, const Provide& provide = nullptr);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Address address() const { return acceptor_->address(); }
  const NativeDriver& driver() const { return driver_; }
  std::size_t sessions() const EXCLUDES(mutex_);
  std::size_t connections() const { return acceptor_->connections(); }

  // Sets limits for sessions that begin from now on; others keep theirs. Throws LimitsError.
  void renew(LimitsTable limits) EXCLUDES(mutex_);
  // Starts no more sessions. Calls `empty` once, on any thread, when there is none: at once, or when the last
  // one has left.
  void drain(std::function<void()> empty) EXCLUDES(mutex_);
  // Another port where this daemon listens. Nothing connects there for a session.
  void add_own_port(std::uint16_t port) { own_ports_.add(port); }
  // The text for Prometheus.
  std::string metrics();

  // Stops accepting, ends all sessions and waits for their threads, but not longer than `timeout`, because
  // native work can take any time. Returns false if some are left; then the process must end without
  // destroying this object.
  bool stop(std::chrono::milliseconds timeout) EXCLUDES(mutex_);

 private:
  static constexpr std::size_t kMonitorsMax = 64;

  void serve(IncomingConnection& incoming);
  void serve_control(IncomingConnection& incoming);
  void serve_monitor(IncomingConnection& incoming);
  void answer_monitor(Connection& connection, const Address& from, const User& user);
  bool answer_kick(Connection& connection, const KickSession& question, const User& user, bool is_operator);
  void forget_monitor(Connection& connection) EXCLUDES(mutex_);
  // The session's grant, or null if it was refused.
  std::unique_ptr<Grant> grant(Connection& connection, const Admission& admission, const Users& users);
  std::shared_ptr<const Users> users() const EXCLUDES(mutex_);
  bool begin_session(IncomingConnection& incoming) EXCLUDES(mutex_);
  void end_session() EXCLUDES(mutex_);
  void refuse(Connection& connection, Refusal why, WelcomeStatus status, std::string_view text);
  void notify_empty() REQUIRES(mutex_);

  const std::optional<TlsServer> tls_;
  NativeDriver driver_;
  std::optional<ProcessCommand> isolation_;
  const bool isolates_ = isolation_.has_value();
  const PeerRules peers_;
  OwnPorts own_ports_;
  Store* const store_;
  const DaemonIdentity identity_ = DaemonIdentity::own();
  const std::unique_ptr<ArgumentProvider> arguments_;
  RejectionCounts refusals_;
  std::uint64_t epoch_ = 0;
  std::unique_ptr<Host> host_;

  mutable Mutex mutex_;
  std::shared_ptr<const Users> users_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool draining_ GUARDED_BY(mutex_) = false;
  std::function<void()> empty_ GUARDED_BY(mutex_);  // called when the last session has left
  std::size_t sessions_ GUARDED_BY(mutex_) = 0;
  std::set<Connection*> monitors_ GUARDED_BY(mutex_);
  std::unique_ptr<Acceptor> acceptor_;  // last, because its threads use the other members
};

}  // namespace remotecl::server
