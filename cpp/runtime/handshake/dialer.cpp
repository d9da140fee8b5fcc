#include "runtime/handshake/dialer.h"

#include <array>

#include "runtime/handshake/handshake.h"
#include "runtime/transport/passing_failure.h"
#include "runtime/transport/tcp/operator_socket.h"
#include "runtime/transport/tcp/tcp.h"

namespace remotecl {
namespace {

constexpr char kRemedy[] =
    "; is it a remotecl-server of this release that was started with --tls? Its log (--log-level info) says more";

// The error if a server answers TLS in plain text. Its text is shown although nothing proves who sent it.
ConnectionError plain_answer(Connection& stream, const Address& address, Deadline deadline) {
  std::array<std::byte, kWelcomeSize> answer;
  if (read_before(stream, answer, deadline)) {
    const auto welcome = decode_frame<Welcome>(answer);
    const std::string text = welcome.magic == kMagic ? read_text(stream, welcome, deadline) : "";
    if (!text.empty()) return ConnectionError(address.text() + " refused the connection: " + text);
  }
  return ConnectionError(address.text() + " does not speak TLS; is another program on that port?");
}

}  // namespace

Dialer::Dialer(const ServerName& server) : address_(server.address) {
  if (!server.token_file.empty()) token_ = read_token(server.token_file);
  if (server.trust.is_wanted()) tls_.emplace(server.trust);
}

std::unique_ptr<Connection> Dialer::connect(std::chrono::milliseconds timeout) const {
  auto connection = open(timeout);
  secure(*connection, Patience::of().first_word);
  return connection;
}

std::unique_ptr<Connection> Dialer::connect(std::chrono::milliseconds timeout, Deadline deadline) const {
  auto connection = open(timeout);
  secure(*connection, deadline);
  return connection;
}

std::unique_ptr<Connection> Dialer::connect_for_monitor(std::chrono::milliseconds timeout) const {
  auto stream = operator_socket::connect(address_);
  if (stream == nullptr) return connect(timeout);
  auto connection = wrap(std::move(stream));
  secure(*connection, Patience::of().first_word);
  return connection;
}

std::unique_ptr<Connection> Dialer::open(std::chrono::milliseconds timeout) const {
  return wrap(tcp::connect(address_, timeout));
}

std::unique_ptr<Connection> Dialer::wrap(std::unique_ptr<StreamConnection> stream) const {
  if (tls_) return tls_->wrap(std::move(stream), address_);
  return stream;
}

void Dialer::secure(Connection& connection, Deadline deadline) const {
  if (!tls_) return;
  auto& secured = static_cast<TlsConnection&>(connection);
  switch (secured.handshake(deadline)) {
    case TlsConnection::Handshake::kDone:
      return;
    case TlsConnection::Handshake::kNoTls:
      throw plain_answer(secured.stream(), address_, deadline);
    case TlsConnection::Handshake::kFailed:
      const bool is_explained = secured.peer_certificate() != nullptr && !secured.peer_certificate()->objection.empty();
      const std::string why = address_.text() + " " + secured.failure() + (is_explained ? "" : kRemedy);
      if (secured.is_broken()) throw BrokenConnection(why);
      throw ConnectionError(why);
  }
}

}  // namespace remotecl
