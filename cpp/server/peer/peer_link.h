#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "runtime/base/mutex.h"
#include "runtime/handshake/bulk_upgrade.h"
#include "runtime/handshake/reconnector.h"
#include "runtime/handshake/server_name.h"
#include "runtime/handshake/stream_pair.h"
#include "runtime/transport/bulk/bulk_transport.h"
#include "runtime/transport/connection.h"
#include "server/execution/event_sink.h"
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
  void signal(EventId event, std::int32_t status) override EXCLUDES(mutex_);
  void send(TransferId transfer, Bytes data) override;
  // Bytes of a small transfer that will be sent; whether too many are.
  Outbox::Promise promise(std::uint64_t size) { return outbox_.promise(size); }
  bool is_crowded() { return outbox_.is_crowded(); }
  void announce(TransferId transfer, std::uint64_t size) override;
  void refuse(TransferId transfer, std::int32_t status) override EXCLUDES(mutex_);
  void drop(TransferId transfer) override EXCLUDES(mutex_);
  // Sends the bytes when the peer asks for them.
  void offer(Ref<OutgoingTransfer> transfer) override EXCLUDES(mutex_);
  // Asks the peer for the bytes.
  void pull(Ref<IncomingTransfer> transfer) override EXCLUDES(mutex_);

  // What has passed both connections.
  Traffic traffic() const;

  // Small transfers on their way to commands. With the session's lock.
  PeerInbox& inbox() { return inbox_; }
  // The error of a transfer that the peer has refused; once. 0 when it has not.
  std::int32_t take_refusal(TransferId transfer) EXCLUDES(mutex_);

 private:
  static constexpr std::uint64_t kSignalsPerAck = 64;

  struct Signal {
    EventId event;
    std::int32_t status;
  };

  ResumableConnection::Hooks hooks(StreamKind kind);
  std::shared_ptr<Connection> make_control(StreamCarrier carrier);
  std::unique_ptr<BulkTransport> make_bulk(StreamCarrier carrier);
  void run();
  void serve();
  void receive_bulk();
  void execute(std::uint16_t code, Bytes payload);
  void take(const PeerSignal&);
  // The first reason why the link ends.
  void fail(const std::exception& error) EXCLUDES(mutex_);
  void take(const PeerAck&) EXCLUDES(mutex_);
  void take(const PeerData&) EXCLUDES(mutex_);
  void take(const PeerSize&);
  void take(const PullTransfer&) EXCLUDES(mutex_);
  void take(const ServerReceived&);
  void take(const Leave&);
  void take(const DropTransfer&) EXCLUDES(mutex_);
  void give_up() EXCLUDES(mutex_);
  std::string end_of_streams() const;
  std::uint64_t unmatched_size() const REQUIRES(mutex_);

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
  PeerInbox inbox_;                  // needs the session's lock
  std::uint64_t signals_taken_ = 0;  // by the reading thread
  std::atomic<std::uint64_t> messages_received_{0};

  mutable Mutex mutex_;
  bool lost_ GUARDED_BY(mutex_) = false;
  std::string reason_ GUARDED_BY(mutex_);
  std::deque<Signal> unacknowledged_ GUARDED_BY(mutex_);
  std::uint64_t acknowledged_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<TransferId, Ref<OutgoingTransfer>> offers_ GUARDED_BY(mutex_);
  std::unordered_set<TransferId> pulled_early_ GUARDED_BY(mutex_);   // before the offer
  std::unordered_set<TransferId> dropped_early_ GUARDED_BY(mutex_);  // before the offer
  std::unordered_map<TransferId, std::int32_t> refused_ GUARDED_BY(mutex_);
  HeldMemory unmatched_ GUARDED_BY(mutex_);  // by these three and unacknowledged_

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
