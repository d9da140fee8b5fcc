#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/transport/connection.h"
#include "server/outbox.h"
#include "server/transfer.h"

namespace remotecl::server {

class Session;

// The reading side of a bulk connection, from the client or from a peer. Owned by the session or the link; any thread
// where nothing else is said.
class BulkReceiver {
 public:
  // `outbox`: where it asks for bytes.
  BulkReceiver(Session& session, Outbox& outbox) : session_(session), outbox_(outbox) {}

  // Asks for the bytes. False when the id is in use.
  bool pull(Ref<IncomingTransfer> transfer) EXCLUDES(mutex_);
  // Forgets a transfer none of whose bytes have come; null when there is none such.
  Ref<IncomingTransfer> cancel(TransferId id) EXCLUDES(mutex_);
  // On the connection's own thread, until it ends. Throws ProtocolError.
  void run(Connection& connection) EXCLUDES(mutex_);
  // What has not come. After run().
  std::vector<Ref<IncomingTransfer>> take_all() EXCLUDES(mutex_);

 private:
  struct Pulled {
    Ref<IncomingTransfer> transfer;
    bool begun = false;  // run() is using it
  };

  Ref<IncomingTransfer> begin(TransferId id) EXCLUDES(mutex_);
  void finish(IncomingTransfer& transfer) EXCLUDES(mutex_);

  Session& session_;
  Outbox& outbox_;
  Mutex mutex_;
  std::unordered_map<TransferId, Pulled> pulled_ GUARDED_BY(mutex_);
};

// The writing side: a thread of its own, made with the first transfer, because whoever reads may be slow.
// Owned by the session or the link; post() may be called by any thread, a driver's callback too.
class BulkSender {
 public:
  // `lost` is called on the sending thread when the connection is found broken.
  BulkSender(Session& session, std::function<void()> lost) : session_(session), lost_(std::move(lost)) {}
  ~BulkSender() { stop(); }

  void connect(Connection& connection) EXCLUDES(mutex_);
  void post(Ref<OutgoingTransfer> transfer) EXCLUDES(mutex_);
  // Waits for the transfer that is being sent: the connection must have been shut down. Gives back what was not sent.
  std::vector<Ref<OutgoingTransfer>> stop() EXCLUDES(mutex_);

 private:
  void run() EXCLUDES(mutex_);

  Session& session_;
  const std::function<void()> lost_;
  Mutex mutex_;
  ConditionVariable wake_;
  Connection* connection_ GUARDED_BY(mutex_) = nullptr;
  std::deque<Ref<OutgoingTransfer>> waiting_ GUARDED_BY(mutex_);
  Ref<OutgoingTransfer> broken_ GUARDED_BY(mutex_);  // was being sent when the connection broke
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
