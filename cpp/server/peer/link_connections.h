#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/handshake/bulk_upgrade.h"
#include "runtime/handshake/reconnector.h"
#include "runtime/handshake/stream_pair.h"
#include "runtime/transport/bulk/bulk_transport.h"
#include "runtime/transport/connection.h"
#include "server/peer/peer_context.h"

namespace remotecl::server {

// The two connections of a link: one for messages and small data, and one for bulk data. Each continues on a new
// connection when it is lost. Owned by the link; any thread, unless noted otherwise.
class LinkConnections {
 public:
  // Reports to the peer how much of a stream has arrived.
  using Acknowledge = std::function<void(StreamKind stream, std::uint64_t received)>;

  // The context must outlive it.
  LinkConnections(const PeerContext& context, PeerId peer, StreamCarrier control, StreamCarrier bulk,
                  Acknowledge acknowledge);

  // Call it before data moves. When a connection is lost, this side connects to that server again. The request of
  // `wanted` is not used.
  void reconnect_to(const LinkDialer::Wanted& wanted, const Invitation& invitation);
  void stop_reconnecting() {
    if (reconnector_) reconnector_->stop();
  }
  void shutdown() {
    control_->shutdown();
    bulk_->shutdown();
  }

  Connection& control() const { return *control_; }
  BulkTransport& bulk() const { return *bulk_; }
  // The streams that can continue on another connection.
  StreamPair& streams() { return streams_; }
  const StreamPair& streams() const { return streams_; }
  // Why the connections have ended.
  std::string end() const;

 private:
  ResumableConnection::Hooks hooks(StreamKind kind);
  std::shared_ptr<Connection> make_control(StreamCarrier carrier);
  std::unique_ptr<BulkTransport> make_bulk(StreamCarrier carrier);

  const PeerContext& context_;
  const PeerId peer_;
  const Acknowledge acknowledge_;
  StreamPair streams_;
  bool bulk_has_doorbell_ = false;
  std::unique_ptr<Reconnector> reconnector_;  // only on the side that connects
  const std::shared_ptr<Connection> control_;
  std::shared_ptr<OffloadedStream> offloaded_;  // null without RDMA
  const std::unique_ptr<BulkTransport> bulk_;
};

}  // namespace remotecl::server
