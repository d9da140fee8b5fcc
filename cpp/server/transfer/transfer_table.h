#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "server/driver/staging.h"
#include "server/execution/event_reporter.h"
#include "server/execution/issuer.h"
#include "server/execution/strand.h"
#include "server/transfer/transfer.h"
#include "server/transfer/transfer_progress.h"
#include "server/util/session_lock.h"
#include "server/util/worker.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

// The bulk transfers of a session. Ends their commands once their bytes have moved.
class TransferTable {
 public:
  TransferTable(Strand& strand, Issuer& issuer, EventReporter& reporter, Outbox& outbox,
                const Ref<SessionCounters>& counters)
      : strand_(strand), issuer_(issuer), reporter_(reporter), outbox_(outbox), counters_(counters) {}

  Strand& strand() { return strand_; }
  Issuer& issuer() { return issuer_; }
  Outbox& outbox() { return outbox_; }  // to the client
  const Ref<SessionCounters>& counters() const { return counters_; }

  // All bytes have moved. Called on the threads of the transfer's connection.
  void finish(Transfer& transfer) EXCLUDES(session_lock);
  // All bytes arrived before the command could begin. Any thread.
  void finish_with(Ref<IncomingTransfer> transfer, std::shared_ptr<std::byte[]> bytes);
  // The transfer has failed before all bytes moved. Any thread, including a callback.
  void fail(Ref<Transfer> transfer, cl_int error);
  // Runs `work`, which may block, and then finish(), on one of a few threads.
  void move(Ref<Transfer> transfer, void (*work)(Transfer&, StagingPool&));

  // Runs `work`, which may block, on one of these threads. Any thread.
  void post(std::function<void()> work);

  // The progress of an announced transfer to this server that has not ended; find_progress() returns null if
  // there is none. begin_progress() throws ProtocolError if the id is in use on any channel or by any peer.
  Ref<TransferProgress> begin_progress(TransferId transfer) REQUIRES(session_lock);
  void forget_progress(TransferId transfer) REQUIRES(session_lock);
  Ref<TransferProgress> find_progress(TransferId transfer) REQUIRES(session_lock);
  std::size_t size() const REQUIRES(session_lock) { return progress_.size(); }

  // Frees the staging memory of a device that is removed. Any thread.
  void drop_staging(Device& device) { rings_.drop(device); }

  // The session ends: cut-through sends stop waiting.
  void end_followers() REQUIRES(session_lock);
  // Waits for threads. Call it once nothing is received or sent any more.
  void stop() EXCLUDES(session_lock);
  // Releases transfers that have not ended.
  void clear() REQUIRES(session_lock);

 private:
  void end(Transfer& transfer) REQUIRES(session_lock);

  Strand& strand_;
  Issuer& issuer_;
  EventReporter& reporter_;
  Outbox& outbox_;
  const Ref<SessionCounters> counters_;
  std::unordered_map<TransferId, Ref<TransferProgress>> progress_ GUARDED_BY(session_lock);
  StagingPool rings_;
  Worker movers_{strand_.on_failure(), 16};
};

}  // namespace remotecl::server
