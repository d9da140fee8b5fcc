// What lets a link go on over other connections when it loses its own.
#include "runtime/handshake/dialer.h"
#include "runtime/handshake/stripes.h"
#include "server/peer/peer_link.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{1500};

}  // namespace

std::unique_ptr<Connection> PeerLink::make_stream(PeerEnd end, StreamKind kind) {
  if (!end.is_resumable) return std::move(end.connection);
  ResumableConnection::Hooks hooks;
  hooks.broken = [this] {
    const LogScope scope(context_.strand.id());
    log_info("has lost a connection to peer {}", peer_);
    if (reconnector_) reconnector_->broken();
  };
  hooks.acknowledge = [this, kind](std::uint64_t received) { outbox_.send(ServerReceived{kind, 0, received}); };
  if (end.memory != nullptr) {  // of which only the doorbell can be lost
    streams_.add(kind, end.memory->keep_doorbell(context_.recovery.window(), std::move(hooks)));
    return std::move(end.connection);
  }
  auto made =
      std::make_unique<ResumableConnection>(std::move(end.connection), context_.recovery.window(), std::move(hooks));
  if (kind == StreamKind::kBulk) made->make_writers_wait();
  return streams_.add(kind, std::move(made));
}

void PeerLink::reconnect_to(const ServerName& server, const Invitation& invitation) {
  ResumableConnection* const control = streams_.control();
  ResumableConnection* const bulk = streams_.bulk();
  if (control == nullptr && bulk == nullptr) return;
  reconnector_ = std::make_unique<Reconnector>(
      server.address, invitation, context_.recovery.window(), kConnectTimeout,
      [this, dialer = std::make_shared<const Dialer>(server)](std::chrono::milliseconds timeout, Deadline deadline) {
        return limit_rate(dialer->connect(timeout, deadline), context_.grant.rate_limits());
      },
      [this](const std::string& news) {
        const LogScope scope(context_.strand.id());
        log_info("{}", news);
      });
  if (control != nullptr) reconnector_->add(*control, Role::kPeerControl);
  const bool is_doorbell = bulk != bulk_.get();
  if (bulk != nullptr) reconnector_->add(*bulk, Role::kPeerBulk, 0, is_doorbell ? 0 : stripes_features());
}

void PeerLink::take(const ServerReceived& message) {
  if (message.channel != 0 || !streams_.acknowledged(message.stream, message.bytes)) {
    throw ProtocolError("a peer has received more than was sent");
  }
}

void PeerLink::take(const Leave&) { streams_.end_when_broken(); }

}  // namespace remotecl::server
