#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "runtime/base/mutex.h"
#include "runtime/greeting/greeting.h"
#include "runtime/protocol/frames.h"
#include "runtime/transport/tcp.h"
#include "runtime/transport/tls.h"
#include "server/handshake.h"
#include "server/metrics.h"
#include "server/native_driver.h"
#include "server/program_files.h"
#include "server/refusals.h"
#include "server/session.h"
#include "server/status_board.h"
#include "server/users.h"

namespace remotecl::server {

// The daemon: accepts connections, makes sessions of them, ends them. Each connection has a thread, so that
// nobody waits for somebody else's. Owned by main() or a test, which also calls stop().
class Server {
 public:
  // Starts listening and accepting. With tokens, this one or users', clients have to prove that they know one; with
  // `tls` nothing else is spoken. Throws NoDevice, ConnectionError, LimitsError.
  Server(const Address& address, std::string_view devices, std::optional<AccessToken> token = {},
         std::optional<TlsServer> tls = {}, LimitsTable limits = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Address address() const { return listener_.address(); }
  const NativeDriver& driver() const { return driver_; }
  std::size_t sessions() const EXCLUDES(mutex_);
  std::size_t connections() const EXCLUDES(mutex_);

  // From now on no session begins. Calls `empty` once, on any thread, when there is none: at once, or when the last one
  // has left.
  void drain(std::function<void()> empty) EXCLUDES(mutex_);
  // What Prometheus gets to read.
  std::string metrics() { return server::metrics(board_, users_, refusals_); }

  // Accepts no more, ends all sessions and waits for their threads, but not longer than `timeout`: native
  // work can take any time. False when some are left; then the process must end without destroying this.
  bool stop(std::chrono::milliseconds timeout) EXCLUDES(mutex_);

 private:
  static constexpr std::size_t kGreetingsMax = 64;
  static constexpr std::size_t kMonitorsMax = 64;

  void accept_all();
  void serve(std::unique_ptr<Connection> connection);
  void greet(std::unique_ptr<Connection>& connection);
  // What is said before, or in the place of, TLS.
  Connection& plain(Connection& connection) const;
  bool may_be_let_in(Connection& connection, Role role) const;
  void serve_control(std::unique_ptr<Connection>& connection, const Hello& hello, Deadline deadline);
  void serve_return(std::unique_ptr<Connection>& connection, const Hello& hello, Deadline deadline);
  void serve_bulk(std::unique_ptr<Connection>& connection, const Hello& hello);
  static std::unique_ptr<Connection> share_memory(std::unique_ptr<Connection> connection);
  void serve_peer(std::unique_ptr<Connection>& connection, const Hello& hello, Deadline deadline);
  void serve_monitor(Connection& connection, const Hello& hello, Deadline deadline);
  void answer_monitor(Connection& connection);
  Ref<Session> find_session(std::uint64_t id) const EXCLUDES(mutex_);
  void greeted(Connection* connection) EXCLUDES(mutex_);
  // What the session may have; null when it was refused.
  std::unique_ptr<Grant> grant(Connection& connection, const Admission& admission);
  void refuse(Connection& connection, Refusal why, WelcomeStatus status, std::string_view text);
  void tell_empty() REQUIRES(mutex_);

  const std::optional<TlsServer> tls_;
  NativeDriver driver_;
  const Users users_;
  ProgramFiles files_;
  OutputCapture output_;
  StatusBoard board_{driver_};
  Refusals refusals_;
  tcp::Listener listener_;
  std::uint64_t epoch_ = 0;

  mutable Mutex mutex_;
  ConditionVariable thread_left_;
  std::size_t threads_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool draining_ GUARDED_BY(mutex_) = false;
  std::function<void()> empty_ GUARDED_BY(mutex_);     // who waits for the last session to leave
  std::set<Connection*> greeting_ GUARDED_BY(mutex_);  // not yet authenticated
  std::set<Connection*> monitors_ GUARDED_BY(mutex_);
  std::map<std::uint64_t, Ref<Session>> sessions_ GUARDED_BY(mutex_);
  std::thread acceptor_;
};

}  // namespace remotecl::server
