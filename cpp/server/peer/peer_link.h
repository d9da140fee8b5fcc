#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "server/execution/event_sink.h"
#include "server/peer/link_connections.h"
#include "server/peer/link_loss.h"
#include "server/peer/link_signals.h"
#include "server/peer/link_transfers.h"
#include "server/peer/peer_context.h"
#include "server/peer/peer_inbox.h"
#include "server/transfer/bulk.h"
#include "server/transfer/bulk_route.h"
#include "server/util/session_lock.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

// The link between a session and one of another server for the same client: one connection for messages and
// small data, and one for bulk data. Both ends are equal, whichever side connected. Owned by the session,
// which outlives the link's threads, and by commands in flight. Any thread, including a driver's callback,
// unless noted otherwise.
//
// Threads: one reads messages and, when either connection ends, fails what has not moved. One receives bulk
// data. Another one, started on first use, sends it.
class PeerLink final : public EventSink, public BulkRoute {
 public:
  PeerLink(const PeerContext& context, PeerId peer, LinkId id, const Secret& secret, StreamCarrier control,
           StreamCarrier bulk);
  ~PeerLink() override { stop(); }

  // Call it before start(). When a connection is lost, this side connects to that server again.
  void reconnect_to(const LinkDialer::Wanted& server, const Invitation& invitation) {
    connections_.reconnect_to(server, invitation);
  }
  // The stream that the other side may continue on another connection; null if there is none.
  ResumableConnection* stream(Role role) const { return connections_.streams().find(role); }
  const Secret& secret() const { return secret_; }

  bool lost() const { return loss_.is_final(); }

  // Returns false if no thread can be started. Call end() then.
  [[nodiscard]] bool start();
  // Fails what has not moved, and reports the loss.
  void end() EXCLUDES(session_lock);
  // Ends both connections. The rest of the tear-down happens on the link's thread.
  void close();
  // Called by the owner: waits for the threads.
  void stop() EXCLUDES(session_lock);

  // Reports to the peer that an event has ended, through the client if the link is lost.
  void signal(EventId event, std::int32_t status) override;
  void send(TransferId transfer, Bytes data) override;
  // reserve() makes room for a small transfer that will be sent; is_crowded() returns true if there are
  // too many.
  Outbox::Reservation reserve(std::uint64_t size) { return outbox_.reserve(size); }
  bool is_crowded() { return outbox_.is_crowded(); }
  void announce(TransferId transfer, std::uint64_t size) override;
  void refuse(TransferId transfer, std::int32_t status) override { transfers_.refuse(transfer, status); }
  void drop(TransferId transfer) override { transfers_.drop(transfer); }
  // Sends the bytes once the peer asks for them.
  void offer(Ref<OutgoingTransfer> transfer) override { transfers_.offer(std::move(transfer)); }
  // Asks the peer for the bytes.
  void pull(Ref<IncomingTransfer> transfer) override { transfers_.pull(std::move(transfer)); }

  const Ref<LinkArguments>& arguments() const { return arguments_; }

  // The traffic of both connections.
  Traffic traffic() const;
  RdmaState rdma() const { return connections_.bulk().rdma(); }

  // Small transfers on their way to commands.
  PeerInbox& inbox() REQUIRES(session_lock) { return inbox_; }
  // See LinkTransfers::take_refusal().
  std::int32_t take_refusal(TransferId transfer) { return transfers_.take_refusal(transfer); }

 private:
  void run() EXCLUDES(session_lock);
  void serve() EXCLUDES(session_lock);
  void receive_bulk();
  void execute(std::uint16_t code, Bytes payload) REQUIRES(session_lock);
  // Records why the link ends, unless an earlier reason is known.
  void fail(const std::exception& error);
  void give_up() EXCLUDES(session_lock);

  const PeerContext context_;
  const PeerId peer_;
  const LinkId id_;
  const Secret secret_;
  LinkConnections connections_;
  Outbox outbox_;
  BulkReceiver bulk_receiver_;
  BulkSender bulk_sender_;
  PeerInbox inbox_ GUARDED_BY(session_lock);
  LinkSignals signals_;
  LinkTransfers transfers_;
  const Ref<LinkArguments> arguments_;
  std::atomic<std::uint64_t> messages_received_{0};
  LinkLoss loss_;
  std::thread reader_;
  std::thread bulk_reader_;
};

// A stream of a session or a link. A connection that proves to know its secret may continue it.
struct OpenStream {
  Secret secret;
  ResumableConnection* connection;
  Ref<PeerLink> link;  // the link that owns it; null if a session does
};

}  // namespace remotecl::server
