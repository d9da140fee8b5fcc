#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include "runtime/base/mutex.h"
#include "runtime/protocol/messages.h"
#include "runtime/transport/connection.h"
#include "runtime/transport/shm/shared_memory_connection.h"
#include "runtime/transport/stream/resumable_connection.h"
#include "server/transfer/bulk.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

class Session;

// A stream of a session's bulk data, in both directions: of the devices whose index, modulo the number of channels, is
// the channel's number. Owned by the session; any thread where nothing else is said.
// Threads: the connection's own receives, and a lazily made one sends.
class BulkChannel {
 public:
  BulkChannel(Session& session, Outbox& outbox, unsigned number);

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

  Session& session_;
  Outbox& outbox_;
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
