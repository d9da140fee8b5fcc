#include "server/admission/acceptor.h"

#include <array>
#include <memory>
#include <system_error>
#include <utility>

#include "server/admission/handshake.h"
#include "server/util/error_words.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

// Logs once that connections cannot be accepted, and once that they can be again.
class AcceptTrouble {
 public:
  void note(const std::error_code& why) {
    const auto now = std::chrono::steady_clock::now();
    if (is_reported_ || now < next_) return;
    is_reported_ = true;
    next_ = now + kSilence;
    log_error(
        "no connection can be accepted: {}; new clients wait until others leave. Raise the limit of open files "
        "(ulimit -n; in a systemd unit LimitNOFILE=), or give clients less (sessions in --limits)",
        why.message());
  }
  void end() {
    if (std::exchange(is_reported_, false)) log_warning("connections are accepted again");
  }

 private:
  // The least time between two reports, because a daemon at its limit may reach it again with every new connection.
  static constexpr std::chrono::minutes kSilence{1};

  bool is_reported_ = false;
  std::chrono::steady_clock::time_point next_;
};

std::unique_ptr<tcp::Listener> listen_for_operators(std::uint16_t port) {
  try {
    return tcp::Listener::for_operators(port);
  } catch (const std::system_error& error) {
    log_warning(
        "no socket for operators ({}): another program has its name, or another daemon of this machine the same port; "
        "remotecl kick needs the token of a user with operator = true",
        error.what());
    return nullptr;
  }
}

}  // namespace

Acceptor::Acceptor(const Address& address, const TlsServer* tls, std::uint64_t epoch, RejectionCounts& refusals,
                   Serve serve)
    : tls_(tls),
      epoch_(epoch),
      refusals_(refusals),
      serve_(std::move(serve)),
      listener_(address),
      for_operators_(listen_for_operators(listener_.address().port)) {}

void Acceptor::start() {
  acceptor_ = std::thread([this] { accept_all(listener_); });
  if (for_operators_) acceptor_for_operators_ = std::thread([this] { accept_all(*for_operators_); });
}

Acceptor::~Acceptor() { close(); }

std::size_t Acceptor::connections() const {
  MutexLock lock(mutex_);
  return threads_;
}

void Acceptor::close() {
  listener_.close();
  if (for_operators_) for_operators_->close();
  if (acceptor_.joinable()) acceptor_.join();
  if (acceptor_for_operators_.joinable()) acceptor_for_operators_.join();
  pending_handshakes_.shutdown_all();
}

bool Acceptor::wait(std::chrono::steady_clock::time_point end) {
  MutexLock lock(mutex_);
  while (threads_ != 0) {
    if (thread_left_.wait_until(mutex_, end) == std::cv_status::timeout) return threads_ == 0;
  }
  return true;
}

void Acceptor::refuse(Connection& connection, Refusal why, WelcomeStatus status, std::string_view text) {
  refusals_.count(why);
  server::refuse(connection, epoch_, status, text);
}

void Acceptor::accept_all(tcp::Listener& listener) {
  AcceptTrouble trouble;
  const auto note = [&](const std::error_code& why, StreamConnection* refused) {
    trouble.note(why);
    if (refused != nullptr) refuse_for(why.message(), *refused);
  };
  for (;;) {
    try {
      auto stream = listener.accept(note);
      if (stream == nullptr) return;
      trouble.end();
      if (tls_ != nullptr) {
        begin(tls_->wrap(std::move(stream)));
      } else {
        begin(std::move(stream));
      }
    } catch (const std::exception& error) {  // of this connection
      log_error("a connection was closed: {}", words_of(error));
    }
  }
}

void Acceptor::begin(std::unique_ptr<Connection> connection) {
  auto slot = pending_handshakes_.enter(*connection, tcp::peer_address(*connection));
  if (!slot) {
    return refuse(plain(*connection), Refusal::kBusy, WelcomeStatus::kBusy,
                  "too many connections are being made; try again");
  }
  {
    MutexLock lock(mutex_);
    ++threads_;
  }
  const auto waiting = std::make_shared<std::unique_ptr<Connection>>(std::move(connection));
  try {
    std::thread([this, waiting, slot = std::move(*slot)]() mutable {
      serve(std::move(*waiting), std::move(slot));
    }).detach();
  } catch (const std::exception& error) {
    log_error("no thread for a new connection: {}", error.what());
    refuse_for("no thread can be started", plain(**waiting));
    MutexLock lock(mutex_);
    --threads_;
  }
}

// Reads what it says first: closing a connection with unread data may discard the answer.
void Acceptor::refuse_for(const std::string& lack, Connection& connection) {
  constexpr std::chrono::milliseconds kHelloTime{200};
  std::array<std::byte, kHelloSize> hello;
  connection.set_read_timeout(kHelloTime);
  if (tls_ == nullptr) connection.read_exactly(hello);
  refuse(connection, Refusal::kBusy, WelcomeStatus::kBusy, cannot_serve(lack));
}

void Acceptor::serve(std::unique_ptr<Connection> connection, PendingHandshakes::Slot slot) {
  try {
    Address from = tcp::peer_address(*connection);
    IncomingConnection incoming{std::move(connection), std::move(slot), handshake_deadline(), std::move(from)};
    try {
      shake_hands(incoming);
    } catch (const std::exception& error) {
      const std::string words = words_of(error);
      log_error("a connection ended: {}", words);
      const bool is_unanswered = incoming.connection != nullptr;  // nobody has taken it over
      if (is_unanswered) refuse(*incoming.connection, Refusal::kBusy, WelcomeStatus::kBusy, cannot_serve(words));
    }
  } catch (const std::exception& error) {
    log_error("a connection was closed: {}", words_of(error));
  }
  MutexLock lock(mutex_);
  --threads_;
  thread_left_.notify_all();
}

Connection& Acceptor::plain(Connection& connection) const {
  return tls_ != nullptr ? static_cast<TlsConnection&>(connection).stream() : connection;
}

void Acceptor::shake_hands(IncomingConnection& incoming) {
  const Deadline deadline = incoming.deadline;
  if (tls_ != nullptr && !secure(static_cast<TlsConnection&>(*incoming.connection), epoch_, deadline)) return;
  const auto hello = read_hello(*incoming.connection, epoch_, deadline);
  if (!hello) return log_info("a connection from {} ended before it said what it is", incoming.from.text());
  if (hello->version != kProtocolVersion) {
    return refuse(*incoming.connection, Refusal::kVersion, WelcomeStatus::kVersionMismatch,
                  version_mismatch_text(hello->version));
  }
  incoming.hello = *hello;
  serve_(incoming);
}

}  // namespace remotecl::server
