#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "runtime/base/mutex.h"
#include "runtime/protocol/messages.h"
#include "runtime/transport/connection.h"
#include "runtime/transport/shm/shared_memory_connection.h"
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
  // ended meanwhile; it is served. `memory`: what it is or goes through, if it is that.
  bool claim() EXCLUDES(mutex_);
  // Instead of attach(): it could not be made, and may be claimed again.
  void leave() EXCLUDES(mutex_);
  bool attach(std::unique_ptr<Connection> connection, bool is_resumable, SharedMemoryConnection* memory)
      EXCLUDES(mutex_);
  void run() EXCLUDES(mutex_);
  // The connection, or the doorbell of one through memory. Null: there is none yet, or it does not break, or may not.
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
  std::unique_ptr<Connection> make_stream(std::unique_ptr<Connection> carrier, SharedMemoryConnection* memory);

  Strand& strand_;
  Outbox& outbox_;
  StreamRecovery& recovery_;
  const unsigned number_;
  BulkReceiver receiver_;
  BulkSender sender_;
  std::atomic<ResumableConnection*> stream_{nullptr};  // connection_, or its doorbell

  mutable Mutex mutex_;
  ConditionVariable left_;
  std::unique_ptr<Connection> connection_ GUARDED_BY(mutex_);
  bool claimed_ GUARDED_BY(mutex_) = false;
  bool running_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace remotecl::server
