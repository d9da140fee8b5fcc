#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/handshake/bulk_upgrade.h"
#include "runtime/handshake/reconnector.h"
#include "runtime/handshake/server_name.h"
#include "runtime/handshake/stream_pair.h"
#include "runtime/transport/bulk/bulk_transport.h"
#include "runtime/transport/connection.h"
#include "server/execution/event_sink.h"
#include "server/peer/link_signals.h"
#include "server/peer/link_transfers.h"
#include "server/peer/peer_context.h"
#include "server/peer/peer_inbox.h"
#include "server/transfer/bulk.h"
#include "server/transfer/bulk_route.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

// The link between a session and one of another server, for the same client: two connections, one for messages and
// small data, one for bulk data. Both ends are alike, whoever connected. Owned by the session, which outlives its
// threads, and by commands in flight. Any thread, also a driver's callback, where nothing else is said.
//
// Threads: one reads messages, and when either connection ends, fails what has not moved; one receives bulk data; a
// lazily made one sends it.
class PeerLink final : public EventSink, public BulkRoute {
 public:
  PeerLink(const PeerContext& context, PeerId peer, LinkId id, const Secret& secret, StreamCarrier control,
           StreamCarrier bulk);
  ~PeerLink() override { stop(); }

  // Before start(): when a connection is lost, this side makes another one, to that server.
  void reconnect_to(const ServerName& server, const Invitation& invitation);
  // What the other side may carry on; null when there is nothing.
  ResumableConnection* stream(Role role) const { return streams_.find(role); }
  const Secret& secret() const { return secret_; }

  bool lost() const EXCLUDES(mutex_);

  void start();
  // Ends both connections; the rest follows on the link's thread.
  void close();
  // By the owner, without the session's lock: waits for the threads.
  void stop();

  // Tells the peer that an event has ended; through the client when the link is lost.
  void signal(EventId event, std::int32_t status) override;
  void send(TransferId transfer, Bytes data) override;
  // Bytes of a small transfer that will be sent; whether too many are.
  Outbox::Promise promise(std::uint64_t size) { return outbox_.promise(size); }
  bool is_crowded() { return outbox_.is_crowded(); }
  void announce(TransferId transfer, std::uint64_t size) override;
  void refuse(TransferId transfer, std::int32_t status) override { transfers_.refuse(transfer, status); }
  void drop(TransferId transfer) override { transfers_.drop(transfer); }
  // Sends the bytes when the peer asks for them.
  void offer(Ref<OutgoingTransfer> transfer) override { transfers_.offer(std::move(transfer)); }
  // Asks the peer for the bytes.
  void pull(Ref<IncomingTransfer> transfer) override { transfers_.pull(std::move(transfer)); }

  // What has passed both connections.
  Traffic traffic() const;

  // Small transfers on their way to commands. With the session's lock.
  PeerInbox& inbox() { return inbox_; }
  // As LinkTransfers::take_refusal().
  std::int32_t take_refusal(TransferId transfer) { return transfers_.take_refusal(transfer); }

 private:
  ResumableConnection::Hooks hooks(StreamKind kind);
  std::shared_ptr<Connection> make_control(StreamCarrier carrier);
  std::unique_ptr<BulkTransport> make_bulk(StreamCarrier carrier);
  void run();
  void serve();
  void receive_bulk();
  void execute(std::uint16_t code, Bytes payload);
  // The first reason why the link ends.
  void fail(const std::exception& error) EXCLUDES(mutex_);
  void give_up() EXCLUDES(mutex_);
  std::string end_of_streams() const;

  const PeerContext context_;
  const PeerId peer_;
  const LinkId id_;
  const Secret secret_;
  StreamPair streams_;
  bool bulk_has_doorbell_ = false;
  const std::shared_ptr<Connection> control_;
  const std::unique_ptr<BulkTransport> bulk_;
  std::unique_ptr<Reconnector> reconnector_;  // of the side that connects
  Outbox outbox_;
  BulkReceiver bulk_receiver_;
  BulkSender bulk_sender_;
  PeerInbox inbox_;  // needs the session's lock
  LinkSignals signals_;
  LinkTransfers transfers_;
  std::atomic<std::uint64_t> messages_received_{0};

  mutable Mutex mutex_;
  bool lost_ GUARDED_BY(mutex_) = false;
  std::string reason_ GUARDED_BY(mutex_);

  std::thread reader_;
  std::thread bulk_reader_;
};

// A stream of a session or a link that who knows its secret may carry on.
struct OpenStream {
  Secret secret;
  ResumableConnection* connection;
  Ref<PeerLink> link;  // that it belongs to, if it does
};

}  // namespace remotecl::server
