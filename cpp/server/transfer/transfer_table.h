#pragma once

#include <memory>
#include <unordered_map>

#include "server/driver/staging.h"
#include "server/execution/event_reporter.h"
#include "server/execution/issuer.h"
#include "server/execution/strand.h"
#include "server/transfer/transfer.h"
#include "server/transfer/transfer_progress.h"
#include "server/util/worker.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

// The bulk transfers of a session: what becomes of their commands when their bytes have moved.
class TransferTable {
 public:
  TransferTable(Strand& strand, Issuer& issuer, EventReporter& reporter, Outbox& outbox,
                const Ref<SessionCounters>& counters)
      : strand_(strand), issuer_(issuer), reporter_(reporter), outbox_(outbox), counters_(counters) {}

  Strand& strand() { return strand_; }
  Issuer& issuer() { return issuer_; }  // with the lock
  Outbox& outbox() { return outbox_; }  // to the client
  const Ref<SessionCounters>& counters() const { return counters_; }

  // All bytes have moved. The threads of its connection.
  void finish(Transfer& transfer);
  // All bytes were here before it could begin. Any thread.
  void finish_with(Ref<IncomingTransfer> transfer, std::shared_ptr<std::byte[]> bytes);
  // It has failed before. Any thread, a callback too.
  void fail(Ref<Transfer> transfer, cl_int error);
  // Runs `work`, which may block, and then finish(), on one of a few threads. With the lock.
  void move(Ref<Transfer> transfer, void (*work)(Transfer&, StagingPool&));

  // Of a transfer to here that has been announced and has not ended; null when there is none. With the lock.
  // Throws ProtocolError when the id is in use: on whichever channel, and from whichever peer.
  Ref<TransferProgress> begin_progress(TransferId transfer);
  void forget_progress(TransferId transfer);
  Ref<TransferProgress> find_progress(TransferId transfer);
  std::size_t size() const { return progress_.size(); }

  // Staging memory of a device that goes away. Any thread.
  void drop_staging(Device& device) { rings_.drop(device); }

  // The session ends: whoever follows a transfer stops waiting. With the lock.
  void end_followers();
  // Waits for threads. Without the lock, when nothing is received or sent any more.
  void stop();
  // Lets go of what has not ended. With the lock.
  void clear();

 private:
  void end(Transfer& transfer);

  Strand& strand_;
  Issuer& issuer_;
  EventReporter& reporter_;
  Outbox& outbox_;
  const Ref<SessionCounters> counters_;
  std::unordered_map<TransferId, Ref<TransferProgress>> progress_;
  StagingPool rings_;
  Worker movers_{16};
};

}  // namespace remotecl::server
