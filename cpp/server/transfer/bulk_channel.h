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

// A bidirectional stream of a session's bulk data, for the devices whose index modulo the number of channels
// is the channel's number. Owned by the session, and by commands in flight, which also own the session. Any
// thread, unless noted otherwise. The connection's own thread receives; another one, started on first use,
// sends.
class BulkChannel final : public BulkRoute {
 public:
  // `transfers` and `recovery` outlive the channel's threads.
  BulkChannel(TransferTable& transfers, StreamRecovery& recovery, unsigned number);

  void pull(Ref<IncomingTransfer> transfer) override;
  void offer(Ref<OutgoingTransfer> transfer) override { sender_.post(std::move(transfer)); }
  void drop(TransferId transfer) override { receiver_.drop_push(transfer); }
  void refuse(TransferId, std::int32_t) override {}  // CommandFailed has reported it to the client
  void send(TransferId transfer, Bytes data) override { outbox_.send(ReadData{transfer, data}); }
  void announce(TransferId transfer, std::uint64_t size) override { outbox_.send(TransferSize{transfer, size}); }

  // Called in this order on the connection's thread: claim() ensures that the channel has only one
  // connection, attach() makes the stream unless the session has ended meanwhile, and run() serves it.
  bool claim() EXCLUDES(mutex_);
  // Called instead of attach() if the stream could not be made. The channel can be claimed again.
  void leave() EXCLUDES(mutex_);
  bool attach(StreamCarrier carrier) EXCLUDES(mutex_);
  void run() EXCLUDES(mutex_);
  // The stream that can continue on another connection; null if there is none, or no connection yet.
  ResumableConnection* stream() const { return stream_.load(std::memory_order_acquire); }
  // How long a lost connection waits for the other end to return.
  void set_window(std::chrono::milliseconds window) EXCLUDES(mutex_);
  // The session ends: stops all data. Call it on all channels before any close().
  void shutdown() EXCLUDES(mutex_);
  // Waits for run() and for what is being sent. Call it after shutdown().
  void close() EXCLUDES(mutex_);
  // The channel's part of the session's traffic.
  Traffic traffic() const EXCLUDES(mutex_);
  RdmaState rdma() const EXCLUDES(mutex_);

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
