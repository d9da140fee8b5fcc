// What lets a link go on over other connections when it loses its own.
#include "runtime/greeting/dialer.h"
#include "server/log.h"
#include "server/peer_link.h"
#include "server/protocol_error.h"
#include "server/session.h"

namespace remotecl::server {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{1500};

}  // namespace

std::unique_ptr<Connection> PeerLink::make_stream(PeerEnd end, StreamKind kind, ResumableConnection*& stream) {
  if (!end.is_resumable) return std::move(end.connection);
  ResumableConnection::Hooks hooks;
  hooks.broken = [this] {
    const LogScope scope(session_.id());
    spdlog::info("has lost a connection to peer {}", peer_);
    if (reconnector_) reconnector_->broken();
  };
  hooks.acknowledge = [this, kind](std::uint64_t received) { outbox_.send(ServerReceived{kind, received}); };
  auto made = std::make_unique<ResumableConnection>(std::move(end.connection), session_.window(), std::move(hooks));
  if (kind == StreamKind::kBulk) made->make_writers_wait();
  stream = made.get();
  return made;
}

void PeerLink::reconnect_to(const ServerName& server, const Invitation& invitation) {
  if (control_stream_ == nullptr && bulk_stream_ == nullptr) return;
  reconnector_ = std::make_unique<Reconnector>(
      server.address, invitation, session_.window(),
      [this, dialer = std::make_shared<const Dialer>(server)] {
        return pace(dialer->connect(kConnectTimeout), session_.grant().paces());
      },
      [this](const std::string& news) {
        const LogScope scope(session_.id());
        spdlog::info("{}", news);
      });
  if (control_stream_ != nullptr) reconnector_->add(*control_stream_, Role::kPeerControl);
  if (bulk_stream_ != nullptr) reconnector_->add(*bulk_stream_, Role::kPeerBulk);
}

ResumableConnection* PeerLink::stream(Role role) const {
  return role == Role::kPeerControl ? control_stream_ : bulk_stream_;
}

void PeerLink::take(const ServerReceived& message) {
  ResumableConnection* const received = message.stream == StreamKind::kBulk ? bulk_stream_ : control_stream_;
  if (received == nullptr || !received->acknowledged(message.bytes)) {
    throw ProtocolError("a peer has received more than was sent");
  }
}

void PeerLink::take(const Leave&) {
  if (control_stream_ != nullptr) control_stream_->end_when_broken();
  if (bulk_stream_ != nullptr) bulk_stream_->end_when_broken();
}

}  // namespace remotecl::server
