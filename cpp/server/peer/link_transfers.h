#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/protocol/messages.h"
#include "server/quota/held_memory.h"
#include "server/transfer/bulk.h"
#include "server/transfer/transfer_table.h"

namespace remotecl::server {

class Outbox;

// The error of commands and transfers whose link is lost.
constexpr cl_int kLinkLost = CL_OUT_OF_RESOURCES;

// Transfers of one link whose bytes do not move yet. Keeps what one side has announced until the other side follows.
// Owned by the link; any thread, including a driver's callback.
class LinkTransfers {
 public:
  LinkTransfers(TransferTable& table, BulkReceiver& receiver, BulkSender& sender, Outbox& outbox)
      : table_(table), receiver_(receiver), sender_(sender), outbox_(outbox), held_(table.counters()) {}

  // See BulkRoute.
  void offer(Ref<OutgoingTransfer> transfer) EXCLUDES(mutex_);
  void pull(Ref<IncomingTransfer> transfer) EXCLUDES(mutex_);
  void refuse(TransferId transfer, std::int32_t status) EXCLUDES(mutex_);
  void drop(TransferId transfer) EXCLUDES(mutex_);

  // The peer reports that it can take the bytes, does not want them, or will not send them. Throw
  // HeldTooMuch.
  void pulled(TransferId transfer) EXCLUDES(mutex_);
  void dropped(TransferId transfer) EXCLUDES(mutex_);
  void refused(TransferId transfer, std::int32_t status) EXCLUDES(mutex_);
  // Returns the error of a transfer that the peer has refused, once; else 0.
  std::int32_t take_refusal(TransferId transfer) EXCLUDES(mutex_);

  // The link is lost: later transfers fail. Returns the offered transfers.
  std::vector<Ref<OutgoingTransfer>> close() EXCLUDES(mutex_);

 private:
  void count_unmatched() REQUIRES(mutex_);

  TransferTable& table_;
  BulkReceiver& receiver_;
  BulkSender& sender_;
  Outbox& outbox_;
  Mutex mutex_;
  bool is_closed_ GUARDED_BY(mutex_) = false;
  std::unordered_map<TransferId, Ref<OutgoingTransfer>> offers_ GUARDED_BY(mutex_);
  std::unordered_set<TransferId> pulled_early_ GUARDED_BY(mutex_);   // before the offer
  std::unordered_set<TransferId> dropped_early_ GUARDED_BY(mutex_);  // before the offer
  std::unordered_map<TransferId, std::int32_t> refused_ GUARDED_BY(mutex_);
  HeldMemory held_ GUARDED_BY(mutex_);  // for these three
};

}  // namespace remotecl::server
