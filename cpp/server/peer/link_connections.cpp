#include "server/peer/link_connections.h"

#include "runtime/handshake/stripes.h"
#include "runtime/transport/stream/resumable_connection.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{1500};

}  // namespace

LinkConnections::LinkConnections(const PeerContext& context, PeerId peer, StreamCarrier control, StreamCarrier bulk,
                                 Acknowledge acknowledge)
    : context_(context),
      peer_(peer),
      acknowledge_(std::move(acknowledge)),
      control_(make_control(std::move(control))),
      bulk_(make_bulk(std::move(bulk))) {}

ResumableConnection::Hooks LinkConnections::hooks(StreamKind kind) {
  ResumableConnection::Hooks hooks;
  hooks.broken = [this] {
    const LogScope scope(context_.strand.id());
    log_info("has lost a connection to peer {}", peer_);
    if (reconnector_) reconnector_->broken();
  };
  hooks.acknowledge = [this, kind](std::uint64_t received) { acknowledge_(kind, received); };
  return hooks;
}

std::shared_ptr<Connection> LinkConnections::make_control(StreamCarrier carrier) {
  if (!carrier.is_resumable) return std::move(carrier.connection);
  auto made = std::make_shared<ResumableConnection>(std::move(carrier.connection), context_.recovery.window(),
                                                    hooks(StreamKind::kControl));
  streams_.add(StreamKind::kControl, *made);
  return made;
}

std::unique_ptr<BulkTransport> LinkConnections::make_bulk(StreamCarrier carrier) {
  offloaded_ = carrier.offloaded;
  BulkLine line = open_bulk(std::move(carrier), {context_.recovery.window(), hooks(StreamKind::kBulk), true});
  if (line.stream != nullptr) streams_.add(StreamKind::kBulk, *line.stream);
  bulk_has_doorbell_ = line.is_doorbell;
  return std::move(line.transport);
}

void LinkConnections::reconnect_to(const LinkDialer::Wanted& wanted, const Invitation& invitation) {
  ResumableConnection* const control = streams_.control();
  ResumableConnection* const bulk = streams_.bulk();
  if (offloaded_) offloaded_->start();
  if (control == nullptr && bulk == nullptr) return;
  reconnector_ = std::make_unique<Reconnector>(
      wanted.addresses.front(), invitation, context_.recovery.window(), kConnectTimeout,
      [this, join = joiner(context_.dialer, wanted)](const JoinRequest& request, std::chrono::milliseconds timeout,
                                                     Deadline deadline, const std::stop_token& stop) {
        Joined joined = join(request, timeout, deadline, stop);
        joined.connection = limit_rate(std::move(joined.connection), context_.grant.rate_limits());
        return joined;
      },
      [this](const std::string& news) {
        const LogScope scope(context_.strand.id());
        log_info("{}", news);
      });
  if (control != nullptr) reconnector_->add(*control, Role::kPeerControl);
  if (bulk != nullptr) reconnector_->add(*bulk, Role::kPeerBulk, 0, bulk_has_doorbell_ ? 0 : stripes_features());
}

std::string LinkConnections::end() const {
  std::string reason = streams_.reason();
  if (!reason.empty()) {
    const LogScope scope(context_.strand.id());
    log_warning("gives up the link to peer {}: {}", peer_, reason);
    return reason;
  }
  const bool vanished = control_->vanished() || bulk_->vanished();
  return vanished ? "the other server does not answer any more" : "the other server closed the connection";
}

}  // namespace remotecl::server
