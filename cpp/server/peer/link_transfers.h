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

// What commands and transfers fail with when their link is lost.
constexpr cl_int kLinkLost = CL_OUT_OF_RESOURCES;

// Transfers of one link whose bytes do not move yet: what one side has said of them until the other side has. Owned by
// the link; any thread, also a driver's callback.
class LinkTransfers {
 public:
  LinkTransfers(TransferTable& table, BulkReceiver& receiver, BulkSender& sender, Outbox& outbox)
      : table_(table), receiver_(receiver), sender_(sender), outbox_(outbox), held_(table.counters()) {}

  // As of BulkRoute.
  void offer(Ref<OutgoingTransfer> transfer) EXCLUDES(mutex_);
  void pull(Ref<IncomingTransfer> transfer) EXCLUDES(mutex_);
  void refuse(TransferId transfer, std::int32_t status) EXCLUDES(mutex_);
  void drop(TransferId transfer) EXCLUDES(mutex_);

  // What the peer says: it can take the bytes, does not want them, or will not send them. Throw HeldTooMuch.
  void pulled(TransferId transfer) EXCLUDES(mutex_);
  void dropped(TransferId transfer) EXCLUDES(mutex_);
  void refused(TransferId transfer, std::int32_t status) EXCLUDES(mutex_);
  // The error of a transfer that the peer has refused; once. 0 when it has not.
  std::int32_t take_refusal(TransferId transfer) EXCLUDES(mutex_);

  // The link is lost: later transfers fail. Gives back what was offered.
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
  HeldMemory held_ GUARDED_BY(mutex_);  // by these three
};

}  // namespace remotecl::server
