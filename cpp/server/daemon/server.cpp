#include "server/daemon/server.h"

#include "runtime/crypto/secret.h"
#include "runtime/handshake/proof.h"
#include "runtime/transport/tcp/peer_user.h"
#include "server/handlers/dispatch.h"
#include "server/isolation/process_host.h"
#include "server/peer/local_link_dialer.h"
#include "server/session/session_host.h"
#include "server/util/format.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

// Claims a session's devices for itself, or, if sessions have processes of their own, joins them so that
// nobody else can claim them. Releases them when destroyed.
class Claims {
 public:
  explicit Claims(std::uint64_t session) : session_(session) {}
  ~Claims() {
    for (const auto& turns : claimed_) turns->unclaim(session_);
    for (const auto& turn : seen_) turn->leave();
  }
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  // Joins all devices that the session sees. Returns one that another session has claimed, or null.
  const Device* see_all(const NativeDriver& driver, const Grant& grant) {
    for (const auto& device : driver.devices()) {
      if (!grant.sees(device->index())) continue;
      auto turn = device->turns()->join(session_, grant.weight(), std::nullopt, CompletionNotifier());
      if (!turn) return device.get();
      seen_.push_back(std::move(turn));
    }
    return nullptr;
  }

  // Claims all devices that the session sees. Returns one that others use, or null.
  const Device* add_all(const NativeDriver& driver, const Grant& grant) {
    for (const auto& device : driver.devices()) {
      if (!grant.sees(device->index())) continue;
      if (!device->turns()->claim(session_)) return device.get();
      claimed_.push_back(device->turns());
    }
    return nullptr;
  }

 private:
  const std::uint64_t session_;
  std::vector<Ref<DeviceTurns>> claimed_;
  std::vector<Ref<DeviceTurn>> seen_;
};

}  // namespace

Server::Server(const Address& address, const DeviceSelection& devices, std::optional<AccessToken> token,
               std::optional<TlsServer> tls, LimitsTable limits, std::optional<ProcessCommand> isolation,
               PeerRules peers, Store* store, BulkOffloadAcceptor* rdma, const Provide& provide)
    : Server(
          address, devices, std::move(token), std::move(tls), std::move(limits),
          [&isolation](const NativeDriver&) { return std::move(isolation); }, std::move(peers), store, rdma, provide) {}

Server::Server(const Address& address, const DeviceSelection& devices, std::optional<AccessToken> token,
               std::optional<TlsServer> tls, LimitsTable limits, const ChooseIsolation& choose, PeerRules peers,
               Store* store, BulkOffloadAcceptor* rdma, const Provide& provide)
    : tls_(std::move(tls)),
      driver_(devices),
      isolation_(choose(driver_)),
      peers_(std::move(peers)),
      store_(store),
      arguments_(provide ? provide(own_ports_) : std::make_unique<ArgumentProvider>()),
      users_(std::make_shared<Users>(std::move(token), std::move(limits), driver_)) {
  fill_random(std::as_writable_bytes(std::span(&epoch_, 1)));
  const MakeLinkDialer dialers = [this](LinkAsker asker) {
    return make_ref<LocalLinkDialer>(LocalLinkDialer::Daemon{peers_, own_ports_, epoch_}, std::move(asker));
  };
  if (isolates_) {
    host_ =
        std::make_unique<ProcessHost>(*std::move(isolation_), driver_, refusals_, epoch_, dialers, store_, *arguments_);
  } else {
    host_ = std::make_unique<SessionHost>(handler_table(), driver_, refusals_, epoch_, peers_, dialers, nullptr, store_,
                                          tls_ ? nullptr : rdma, *arguments_);
  }
  prepare_proofs();  // saves the first client the wait
  acceptor_ = std::make_unique<Acceptor>(address, tls_ ? &*tls_ : nullptr, epoch_, refusals_,
                                         [this](IncomingConnection& incoming) { serve(incoming); });
  own_ports_.add(acceptor_->address().port);
  acceptor_->start();
}

Server::~Server() { stop(std::chrono::hours(24)); }

std::size_t Server::sessions() const {
  MutexLock lock(mutex_);
  return sessions_;
}

bool Server::stop(std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  acceptor_->close();
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    for (Connection* connection : monitors_) connection->shutdown();
  }
  host_->close();
  return acceptor_->wait(end);
}

std::string Server::metrics() {
  const StatusReport report = host_->report(Viewer::of_all(), kMetricsPatience);
  return server::metrics(report, host_->crashes(), identity_, driver_, *users(), refusals_, store_);
}

std::shared_ptr<const Users> Server::users() const {
  MutexLock lock(mutex_);
  return users_;
}

void Server::renew(LimitsTable limits) {
  std::shared_ptr<const Users> renewed = users()->renewed(std::move(limits), driver_);
  MutexLock lock(mutex_);
  users_.swap(renewed);
}

void Server::drain(std::function<void()> empty) {
  MutexLock lock(mutex_);
  draining_ = true;
  empty_ = std::move(empty);
  notify_empty();
}

void Server::notify_empty() {
  if (draining_ && sessions_ == 0 && empty_) std::exchange(empty_, nullptr)();
}

void Server::refuse(Connection& connection, Refusal why, WelcomeStatus status, std::string_view text) {
  refusals_.count(why);
  server::refuse(connection, epoch_, status, text);
}

void Server::serve(IncomingConnection& incoming) {
  const bool is_client = incoming.hello.role == Role::kControl || incoming.hello.role == Role::kMonitor;
  // Further connections of a session, and peers, prove that they know a secret instead.
  if (tcp::peer_user(*incoming.connection) && incoming.hello.role != Role::kMonitor) {
    refuse(*incoming.connection, Refusal::kUnknownSession, WelcomeStatus::kUnknownSession,
           "sessions do not begin at the operators' socket; connect to the server's port");
  } else if (!is_client || (incoming.hello.features & kFeatureResume) != 0) {
    host_->serve_further(incoming);
  } else if (tls_ && tls_->asks_for_certificates() && !has_certificate(*incoming.connection, epoch_)) {
    log_info("a client at {} was not let in: no certificate", incoming.from.text());
  } else if (incoming.hello.role == Role::kControl) {
    serve_control(incoming);
  } else {
    serve_monitor(incoming);
  }
}

// Returns false if no session may begin; if the server is draining, the client has then been refused.
bool Server::begin_session(IncomingConnection& incoming) {
  {
    MutexLock lock(mutex_);
    if (stopping_) return false;
    if (!draining_) {
      ++sessions_;
      incoming.handshake_slot.leave_proved();
      return true;
    }
  }
  refuse(*incoming.connection, Refusal::kDraining, WelcomeStatus::kBusy,
         "the server is about to end and takes no new sessions; name another server, or try again when it has been "
         "started anew");
  return false;
}

void Server::end_session() {
  MutexLock lock(mutex_);
  --sessions_;
  notify_empty();
}

void Server::serve_control(IncomingConnection& incoming) {
  const auto users = this->users();
  const auto admission =
      admit(*incoming.connection, incoming.hello, epoch_, users->tokens(), incoming.deadline, refusals_);
  if (!admission) return log_info("a client at {} was not let in", incoming.from.text());
  const LogScope scope(admission->session);
  std::unique_ptr<Grant> granted = grant(*incoming.connection, *admission, *users);
  if (granted == nullptr) return;
  Claims claims(admission->session);
  const std::optional<bool> may_be_alone = granted->user().limits().exclusive;
  const bool asks = (admission->features & kFeatureExclusive) != 0;
  if (asks && !may_be_alone.value_or(true)) {
    return refuse(*incoming.connection, Refusal::kNoDevice, WelcomeStatus::kBusy,
                  format_text("user {} may not have devices alone; take exclusive=yes out of the server's name here",
                              granted->user().name()));
  }
  if (asks || may_be_alone.value_or(false)) {
    if (const Device* const used = claims.add_all(driver_, *granted)) {
      return refuse(
          *incoming.connection, Refusal::kNoDevice, WelcomeStatus::kBusy,
          format_text("user {} is to have devices alone, and others use device {} now; try again when they have left "
                      "(remotecl top shows them)",
                      granted->user().name(), used->index()));
    }
  } else if (isolates_ && claims.see_all(driver_, *granted) != nullptr) {
    // Another session has just claimed a device.
    return refuse(*incoming.connection, Refusal::kBusy, WelcomeStatus::kBusy,
                  "somebody has just got a device alone; try again");
  }
  if (!begin_session(incoming)) return;
  try {
    host_->serve_session(incoming, *admission, std::move(granted));
  } catch (...) {
    end_session();
    throw;
  }
  end_session();
}

std::unique_ptr<Grant> Server::grant(Connection& connection, const Admission& admission, const Users& users) {
  const Ref<User>& user = users.owner_of(admission.token);
  if (!user->begin_session()) {
    refuse(connection, Refusal::kSessions, WelcomeStatus::kBusy,
           format_text("user {} has {} sessions there, and may not have more at a time; end one of them (remotecl top "
                       "shows them)",
                       user->name(), user->sessions()));
    return nullptr;
  }
  auto granted = users.grant(user, driver_);
  if (granted->sees_none()) {
    refuse(connection, Refusal::kNoDevice, WelcomeStatus::kBusy,
           format_text(
               "there is no device that user {} may use now: its limits allow none, or others have them alone; ask "
               "whoever runs the server",
               user->name()));
    return nullptr;
  }
  return granted;
}

}  // namespace remotecl::server
