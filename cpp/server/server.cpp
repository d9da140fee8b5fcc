#include "server/server.h"

#include "runtime/greeting/proof.h"
#include "runtime/greeting/secret.h"
#include "runtime/transport/shared_memory.h"
#include "server/handshake.h"
#include "server/log.h"
#include "server/protocol_error.h"

namespace remotecl::server {
namespace {

// The devices that a session has alone, as long as this lives.
class Claims {
 public:
  explicit Claims(std::uint64_t session) : session_(session) {}
  ~Claims() {
    for (const auto& turns : claimed_) turns->unclaim(session_);
  }
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  // All that the session sees. Else one that others use; null: none.
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
};

}  // namespace

Server::Server(const Address& address, std::string_view devices, std::optional<AccessToken> token,
               std::optional<TlsServer> tls, LimitsTable limits)
    : tls_(std::move(tls)), driver_(devices), users_(std::move(token), std::move(limits), driver_), listener_(address) {
  fill_random(std::as_writable_bytes(std::span(&epoch_, 1)));
  prepare_proofs();  // so that the first client need not wait for it
  acceptor_ = std::thread([this] { accept_all(); });
}

Server::~Server() { stop(std::chrono::hours(24)); }

std::size_t Server::sessions() const {
  MutexLock lock(mutex_);
  return sessions_.size();
}

std::size_t Server::connections() const {
  MutexLock lock(mutex_);
  return threads_;
}

bool Server::stop(std::chrono::milliseconds timeout) {
  listener_.close();
  if (acceptor_.joinable()) acceptor_.join();
  const auto end = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(mutex_);
  stopping_ = true;
  for (Connection* connection : greeting_) connection->shutdown();
  for (Connection* connection : monitors_) connection->shutdown();
  for (const auto& [id, session] : sessions_) session->close("the server is shutting down");
  while (threads_ != 0) {
    if (thread_left_.wait_until(mutex_, end) == std::cv_status::timeout) return threads_ == 0;
  }
  return true;
}

void Server::drain(std::function<void()> empty) {
  MutexLock lock(mutex_);
  draining_ = true;
  empty_ = std::move(empty);
  tell_empty();
}

void Server::tell_empty() {
  if (draining_ && sessions_.empty() && empty_) std::exchange(empty_, nullptr)();
}

void Server::refuse(Connection& connection, Refusal why, WelcomeStatus status, std::string_view text) {
  refusals_.count(why);
  server::refuse(connection, epoch_, status, text);
}

void Server::accept_all() {
  while (auto stream = listener_.accept()) {
    std::unique_ptr<Connection> connection;
    if (tls_) {
      connection = tls_->wrap(std::move(stream));
    } else {
      connection = std::move(stream);
    }
    bool busy = false;
    {
      MutexLock lock(mutex_);
      busy = greeting_.size() >= kGreetingsMax;
      if (!busy) {
        greeting_.insert(connection.get());
        ++threads_;
      }
    }
    if (busy) {
      refuse(plain(*connection), Refusal::kBusy, WelcomeStatus::kBusy,
             "too many connections are being made; try again");
      continue;
    }
    Connection* const key = connection.get();
    try {
      std::thread([this, connection = std::move(connection)]() mutable { serve(std::move(connection)); }).detach();
    } catch (const std::system_error& error) {
      spdlog::error("no thread for a new connection: {}", error.what());
      MutexLock lock(mutex_);
      greeting_.erase(key);
      --threads_;
    }
  }
}

void Server::greeted(Connection* connection) {
  MutexLock lock(mutex_);
  greeting_.erase(connection);
}

void Server::serve(std::unique_ptr<Connection> connection) {
  Connection* const key = connection.get();
  try {
    greet(connection);
  } catch (const std::exception& error) {
    spdlog::error("a connection ended: {}", error.what());
  }
  {
    MutexLock lock(mutex_);
    greeting_.erase(key);
    monitors_.erase(key);
  }
  connection.reset();
  MutexLock lock(mutex_);
  --threads_;
  thread_left_.notify_all();
}

Connection& Server::plain(Connection& connection) const {
  return tls_ ? static_cast<TlsConnection&>(connection).stream() : connection;
}

// Further connections of a session, and peers, prove to know a secret.
bool Server::may_be_let_in(Connection& connection, Role role) const {
  const bool is_client = role == Role::kControl || role == Role::kMonitor;
  return !is_client || !tls_ || !tls_->asks_for_certificates() || has_certificate(connection, epoch_);
}

void Server::greet(std::unique_ptr<Connection>& connection) {
  const Deadline deadline = greeting_deadline();
  if (tls_ && !secure(static_cast<TlsConnection&>(*connection), epoch_, deadline)) return;
  const auto hello = read_hello(*connection, epoch_, deadline);
  if (!hello) return;
  if (hello->version != kProtocolVersion) {
    refuse(*connection, Refusal::kVersion, WelcomeStatus::kVersionMismatch, version_mismatch_text(hello->version));
  } else if ((hello->features & kFeatureResume) != 0) {
    serve_return(connection, *hello, deadline);
  } else if (!may_be_let_in(*connection, hello->role)) {
    spdlog::info("a client at {} was not let in: no certificate", tcp::peer_address(*connection).text());
  } else if (hello->role == Role::kControl) {
    serve_control(connection, *hello, deadline);
  } else if (hello->role == Role::kBulk) {
    serve_bulk(connection, *hello);
  } else if (hello->role == Role::kPeerControl || hello->role == Role::kPeerBulk) {
    serve_peer(connection, *hello, deadline);
  } else if (hello->role == Role::kMonitor) {
    serve_monitor(*connection, *hello, deadline);
  }
}

Ref<Session> Server::find_session(std::uint64_t id) const {
  MutexLock lock(mutex_);
  const auto at = sessions_.find(id);
  return at == sessions_.end() ? nullptr : at->second;
}

// Null when the other side is gone or did not behave.
std::unique_ptr<Connection> Server::share_memory(std::unique_ptr<Connection> connection) {
  connection->set_read_timeout(std::chrono::milliseconds(kHandshakeTimeoutMs));
  connection = shared_memory::accept(std::move(connection));
  if (connection != nullptr) connection->set_read_timeout(std::chrono::milliseconds(0));
  return connection;
}

// A client, or a peer, that has lost its connection.
void Server::serve_return(std::unique_ptr<Connection>& connection, const Hello& hello, Deadline deadline) {
  const Ref<Session> session = find_session(hello.session);
  const auto streams = session ? session->streams(hello.role) : std::vector<OpenStream>();
  if (streams.empty()) {
    refuse(*connection, Refusal::kUnknownSession, WelcomeStatus::kUnknownSession,
           "the session has ended here; it is kept only for a while when its connection is lost");
    return;
  }
  std::vector<Secret> secrets;
  for (const OpenStream& stream : streams) secrets.push_back(stream.secret);
  const auto back = readmit(*connection, hello, epoch_, secrets, deadline);
  greeted(connection.get());
  if (!back) return;
  ResumableConnection& stream = *streams[back->secret].connection;
  const ResumableConnection::Attempt attempt = stream.detach();
  welcome_back(*connection, epoch_, hello, *back, attempt.received);
  connection = pace(std::move(connection), session->grant().paces());
  if (!stream.resume(attempt, std::move(connection), back->received)) return;
  const LogScope scope(session->id());
  spdlog::info("goes on over another connection");
}

void Server::serve_peer(std::unique_ptr<Connection>& connection, const Hello& hello, Deadline deadline) {
  const Ref<Session> session = find_session(hello.session);
  // The client tells both servers of a link at the same time, and the other one may be the faster.
  const auto invited = session ? session->peers().find(hello, deadline) : std::nullopt;
  if (!invited) {
    refuse(*connection, Refusal::kUnknownSession, WelcomeStatus::kUnknownSession,
           "there is no such session, or it expects no such peer");
    return;
  }
  greeted(connection.get());
  const std::uint64_t possible = kFeatureResumable | (hello.role == Role::kPeerBulk ? bulk_features() : 0);
  const std::uint64_t features = hello.features & possible;
  welcome(*connection, epoch_, hello, invited->secret, features);
  const Connection* const stream = connection.get();
  if ((features & kFeatureSharedMemory) != 0) connection = share_memory(std::move(connection));
  if (connection == nullptr) return;
  const bool is_resumable = (features & kFeatureResumable) != 0 && connection.get() == stream;
  connection = pace(std::move(connection), session->grant().paces());
  session->peers().attach(*invited, hello.role, {std::move(connection), is_resumable});
}

void Server::serve_control(std::unique_ptr<Connection>& connection, const Hello& hello, Deadline deadline) {
  const auto admission = admit(*connection, hello, epoch_, users_.tokens(), deadline, refusals_);
  if (!admission) return spdlog::info("a client at {} was not let in", tcp::peer_address(*connection).text());
  const std::uint64_t id = admission->session;
  const LogScope scope(id);
  std::unique_ptr<Grant> granted = grant(*connection, *admission);
  if (granted == nullptr) return;
  Claims claims(id);
  if (granted->user().limits().exclusive.value_or(false)) {
    if (const Device* const used = claims.add_all(driver_, *granted)) {
      return refuse(
          *connection, Refusal::kNoDevice, WelcomeStatus::kBusy,
          fmt::format("user {} has devices alone, and others use device {} now; try again when they have left "
                      "(remotecl top shows them)",
                      granted->user().name(), used->index()));
    }
  }
  Connection* const control = connection.get();
  Ref<Session> session;
  {
    MutexLock lock(mutex_);
    greeting_.erase(control);
    if (stopping_) return;
    if (!draining_) {
      auto paced = pace(std::move(connection), granted->paces());
      session = make_ref<Session>(Shared{driver_, files_, output_, board_}, std::move(paced), id, admission->secret,
                                  std::move(granted), (admission->features & kFeatureResumable) != 0);
      sessions_.emplace(id, session);
    }
  }
  if (!session) {
    return refuse(*control, Refusal::kDraining, WelcomeStatus::kBusy,
                  "the server is about to end and takes no new sessions; name another server, or try again when it has "
                  "been started anew");
  }
  board_.add(session);
  welcome(*control, epoch_, *admission);
  spdlog::info("begins, from {}, for user {}", session->address().text(), session->grant().user().name());
  session->run();
  spdlog::info("ends");
  board_.remove(*session);
  MutexLock lock(mutex_);
  sessions_.erase(id);
  tell_empty();
}

std::unique_ptr<Grant> Server::grant(Connection& connection, const Admission& admission) {
  const Ref<User>& user = users_.owner_of(admission.token);
  if (!user->begin_session()) {
    refuse(connection, Refusal::kSessions, WelcomeStatus::kBusy,
           fmt::format("user {} has {} sessions there, and may not have more at a time; end one of them (remotecl top "
                       "shows them)",
                       user->name(), user->sessions()));
    return nullptr;
  }
  auto granted = std::make_unique<Grant>(user, users_.of_session(), driver_);
  if (granted->sees_none()) {
    refuse(connection, Refusal::kNoDevice, WelcomeStatus::kBusy,
           fmt::format(
               "there is no device that user {} may use now: its limits allow none, or others have them alone; ask "
               "whoever runs the server",
               user->name()));
    return nullptr;
  }
  return granted;
}

void Server::serve_monitor(Connection& connection, const Hello& hello, Deadline deadline) {
  const auto admission = admit(connection, hello, epoch_, users_.tokens(), deadline, refusals_);
  if (!admission) return;
  bool is_taken = false;
  {
    MutexLock lock(mutex_);
    greeting_.erase(&connection);
    if (stopping_) return;
    is_taken = monitors_.size() < kMonitorsMax && monitors_.insert(&connection).second;
  }
  if (!is_taken) {
    return refuse(connection, Refusal::kBusy, WelcomeStatus::kBusy, "too many monitors look at this server");
  }
  try {
    welcome(connection, epoch_, *admission);
    answer_monitor(connection);
  } catch (const ProtocolError& error) {
    ByteBuffer last_words;
    append_message(last_words, SessionError{error.what()});
    connection.try_write(last_words.bytes());
  }
}

// Who has no session may ask for the status, and nothing else.
void Server::answer_monitor(Connection& connection) {
  const Address from = tcp::peer_address(connection);
  std::array<std::byte, kMessageHeaderSize> header_bytes;
  std::array<std::byte, sizeof(Token)> bytes;
  while (connection.read_exactly(header_bytes)) {
    const auto header = decode_frame<MessageHeader>(header_bytes);
    if (header.code != Code::kGetStatus) {
      throw ProtocolError("a monitor sent message code " + std::to_string(header.code) +
                          "; it may only ask for status");
    }
    if (header.size != bytes.size()) throw ProtocolError("a GetStatus message is malformed");
    if (!connection.read_exactly(bytes)) return;
    if (!connection.write(board_.answer(decode_frame<GetStatus>(bytes).token, nullptr, from))) return;
  }
}

void Server::serve_bulk(std::unique_ptr<Connection>& connection, const Hello& hello) {
  const Ref<Session> session = find_session(hello.session);
  if (!session || !same_secret(connecting_proof(session->secret(), hello), hello.secret)) {
    refuse(*connection, Refusal::kUnknownSession, WelcomeStatus::kUnknownSession,
           "there is no such session, or the secret is wrong");
    return;
  }
  greeted(connection.get());
  if (!session->claim_bulk()) {
    refuse(*connection, Refusal::kBusy, WelcomeStatus::kBusy, "the session has its bulk connection already");
    return;
  }
  const std::uint64_t features = hello.features & (bulk_features() | kFeatureResumable);
  welcome(*connection, epoch_, hello, session->secret(), features);
  const Connection* const stream = connection.get();
  if ((features & kFeatureSharedMemory) != 0) connection = share_memory(std::move(connection));
  if (connection == nullptr) return session->close("the bulk connection was lost");
  // Memory does not break.
  const bool is_resumable = (features & kFeatureResumable) != 0 && connection.get() == stream;
  connection = pace(std::move(connection), session->grant().paces());
  if (!session->attach_bulk(std::move(connection), is_resumable)) return;
  session->run_bulk();
}

}  // namespace remotecl::server
