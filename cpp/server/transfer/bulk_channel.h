#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "runtime/base/mutex.h"
#include "runtime/handshake/bulk_upgrade.h"
#include "runtime/protocol/messages.h"
#include "runtime/transport/bulk/bulk_transport.h"
#include "runtime/transport/stream/resumable_connection.h"
#include "server/execution/strand.h"
#include "server/transfer/bulk.h"
#include "server/transfer/bulk_route.h"
#include "server/wire/outbox.h"
#include "server/wire/stream_recovery.h"

namespace remotecl::server {

class TransferTable;

// A stream of a session's bulk data, in both directions: of the devices whose index, modulo the number of channels, is
// the channel's number. Owned by the session, and by commands in flight, which own the session, too; any thread where
// nothing else is said. Threads: the connection's own receives, and a lazily made one sends.
class BulkChannel final : public BulkRoute {
 public:
  // Both outlive its threads.
  BulkChannel(TransferTable& transfers, StreamRecovery& recovery, unsigned number);

  void pull(Ref<IncomingTransfer> transfer) override;
  void offer(Ref<OutgoingTransfer> transfer) override { sender_.post(std::move(transfer)); }
  void drop(TransferId transfer) override { receiver_.drop_push(transfer); }
  void refuse(TransferId, std::int32_t) override {}  // CommandFailed has told the client
  void send(TransferId transfer, Bytes data) override { outbox_.send(ReadData{transfer, data}); }
  void announce(TransferId transfer, std::uint64_t size) override { outbox_.send(TransferSize{transfer, size}); }

  // One after the other, on the connection's thread: there is only one of them; it is made, unless the session has
  // ended meanwhile; it is served.
  bool claim() EXCLUDES(mutex_);
  // Instead of attach(): it could not be made, and may be claimed again.
  void leave() EXCLUDES(mutex_);
  bool attach(StreamCarrier carrier) EXCLUDES(mutex_);
  void run() EXCLUDES(mutex_);
  // What another connection may carry on. Null: nothing, or there is no connection yet.
  ResumableConnection* stream() const { return stream_.load(std::memory_order_acquire); }
  // How long the other end of a lost connection is waited for.
  void set_window(std::chrono::milliseconds window) EXCLUDES(mutex_);
  // The session ends: nothing moves any more. Before close() of any channel.
  void shutdown() EXCLUDES(mutex_);
  // Waits for run(), and for what is being sent. After shutdown().
  void close() EXCLUDES(mutex_);
  // What has moved, as a part of a session's traffic.
  Traffic traffic() const EXCLUDES(mutex_);

  BulkReceiver& receiver() { return receiver_; }
  BulkSender& sender() { return sender_; }

 private:
  Strand& strand_;
  Outbox& outbox_;
  StreamRecovery& recovery_;
  const unsigned number_;
  BulkReceiver receiver_;
  BulkSender sender_;
  std::atomic<ResumableConnection*> stream_{nullptr};  // of transport_

  mutable Mutex mutex_;
  ConditionVariable left_;
  std::unique_ptr<BulkTransport> transport_ GUARDED_BY(mutex_);
  bool claimed_ GUARDED_BY(mutex_) = false;
  bool running_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace remotecl::server
