#pragma once

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>

#include "runtime/base/mutex.h"
#include "runtime/transport/connection.h"
#include "server/outbox.h"
#include "server/transfer.h"

namespace remotecl::server {

class Session;

// The reading side of a session's bulk connection. Owned by the session; pull() may be called by any thread.
class BulkReceiver {
 public:
  explicit BulkReceiver(Session& session) : session_(session) {}

  // Asks the client for the bytes.
  void pull(Ref<IncomingTransfer> transfer) EXCLUDES(mutex_);
  // On the connection's own thread, until it ends. Throws ProtocolError.
  void run(Connection& connection) EXCLUDES(mutex_);
  void drop_all() EXCLUDES(mutex_);

 private:
  Ref<IncomingTransfer> find(TransferId id) EXCLUDES(mutex_);
  void remove(TransferId id) EXCLUDES(mutex_);

  Session& session_;
  Mutex mutex_;
  std::unordered_map<TransferId, Ref<IncomingTransfer>> pulled_ GUARDED_BY(mutex_);
};

// The writing side: a thread of its own, made with the first transfer, because a client may read slowly.
// Owned by the session; post() may be called by any thread, a driver's callback too.
class BulkSender {
 public:
  explicit BulkSender(Session& session) : session_(session) {}
  ~BulkSender() { stop(); }

  void connect(Connection& connection) EXCLUDES(mutex_);
  void post(Ref<OutgoingTransfer> transfer) EXCLUDES(mutex_);
  // Waits for the transfer that is being sent: the connection must have been shut down. Drops the others.
  void stop() EXCLUDES(mutex_);

 private:
  void run() EXCLUDES(mutex_);

  Session& session_;
  Mutex mutex_;
  ConditionVariable wake_;
  Connection* connection_ GUARDED_BY(mutex_) = nullptr;
  std::deque<Ref<OutgoingTransfer>> waiting_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
