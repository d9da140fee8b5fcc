#include "server/peer/link_transfers.h"

#include <utility>

#include "server/wire/outbox.h"

namespace remotecl::server {

void LinkTransfers::count_unmatched() {
  constexpr std::uint64_t kEach = 64;  // estimated
  held_.follow(kEach * (pulled_early_.size() + dropped_early_.size() + refused_.size()));
}

void LinkTransfers::offer(Ref<OutgoingTransfer> transfer) {
  {
    const MutexLock lock(mutex_);
    const bool unwanted = is_closed_ || dropped_early_.erase(transfer->id()) != 0;
    if (!unwanted && pulled_early_.erase(transfer->id()) != 0) return sender_.post(std::move(transfer));
    if (!unwanted) {
      const TransferId id = transfer->id();
      offers_.emplace(id, std::move(transfer));
      return;
    }
  }
  table_.fail(std::move(transfer), kLinkLost);
}

void LinkTransfers::pull(Ref<IncomingTransfer> transfer) {
  std::int32_t status = kLinkLost;
  {
    const MutexLock lock(mutex_);
    const auto refusal = refused_.find(transfer->id());
    if (refusal != refused_.end()) {
      status = refusal->second;
      refused_.erase(refusal);
    } else if (!is_closed_ && receiver_.pull(transfer)) {
      return;
    }
  }
  table_.fail(std::move(transfer), status);
}

void LinkTransfers::refuse(TransferId transfer, std::int32_t status) {
  {
    const MutexLock lock(mutex_);
    pulled_early_.erase(transfer);
    if (dropped_early_.erase(transfer) != 0) return;  // the peer's command has already failed
  }
  outbox_.send(PeerData{transfer, status, {}});
}

void LinkTransfers::drop(TransferId transfer) {
  {
    const MutexLock lock(mutex_);
    if (refused_.erase(transfer) != 0) return;
  }
  outbox_.send(DropTransfer{transfer});
}

void LinkTransfers::pulled(TransferId transfer) {
  const MutexLock lock(mutex_);
  const auto at = offers_.find(transfer);
  if (at == offers_.end()) {
    pulled_early_.insert(transfer);
    return count_unmatched();
  }
  sender_.post(std::move(at->second));
  offers_.erase(at);
}

void LinkTransfers::dropped(TransferId transfer) {
  Ref<OutgoingTransfer> dropped;
  {
    const MutexLock lock(mutex_);
    const auto at = offers_.find(transfer);
    if (at == offers_.end()) {
      dropped_early_.insert(transfer);
      return count_unmatched();
    }
    dropped = std::move(at->second);
    offers_.erase(at);
  }
  table_.fail(std::move(dropped), CL_OUT_OF_RESOURCES);
}

void LinkTransfers::refused(TransferId transfer, std::int32_t status) {
  Ref<IncomingTransfer> failed;
  {
    const MutexLock lock(mutex_);
    failed = receiver_.cancel(transfer);
    if (!failed) {
      refused_.emplace(transfer, status);
      return count_unmatched();
    }
  }
  table_.fail(std::move(failed), status);
}

std::int32_t LinkTransfers::take_refusal(TransferId transfer) {
  const MutexLock lock(mutex_);
  const auto at = refused_.find(transfer);
  if (at == refused_.end()) return 0;
  const std::int32_t status = at->second;
  refused_.erase(at);
  return status;
}

std::vector<Ref<OutgoingTransfer>> LinkTransfers::close() {
  std::vector<Ref<OutgoingTransfer>> offered;
  const MutexLock lock(mutex_);
  is_closed_ = true;
  for (auto& [id, transfer] : offers_) offered.push_back(std::move(transfer));
  offers_.clear();
  pulled_early_.clear();
  dropped_early_.clear();
  refused_.clear();
  count_unmatched();
  return offered;
}

}  // namespace remotecl::server
