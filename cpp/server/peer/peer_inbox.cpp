#include "server/peer/peer_inbox.h"

#include "server/execution/issuer.h"
#include "server/transfer/held_payload.h"

namespace remotecl::server {

PeerInbox::PeerInbox(Issuer& issuer, const Ref<SessionCounters>& counters)
    : issuer_(issuer), counters_(counters), held_(counters) {}

std::shared_ptr<IncomingPeer> PeerInbox::await(TransferId transfer) {
  if (const auto at = early_.find(transfer); at != early_.end()) {
    std::shared_ptr<IncomingPeer> arrival = std::move(at->second);
    early_.erase(at);
    count_unmatched();
    return arrival;
  }
  auto arrival = std::make_shared<IncomingPeer>();
  arrival->awaited = issuer_.expect_hidden();
  if (!awaited_.emplace(transfer, arrival).second) {
    throw ProtocolError("transfer id " + std::to_string(transfer) + " is in use");
  }
  return arrival;
}

void PeerInbox::discard(TransferId transfer) {
  if (early_.erase(transfer) != 0) return;
  discarded_.insert(transfer);
  count_unmatched();
}

bool PeerInbox::awaits(TransferId transfer) const { return awaited_.contains(transfer); }

std::shared_ptr<IncomingPeer> PeerInbox::arrival_of(TransferId transfer) {
  if (discarded_.erase(transfer) != 0) return nullptr;
  if (const auto at = awaited_.find(transfer); at != awaited_.end()) {
    std::shared_ptr<IncomingPeer> arrival = std::move(at->second);
    awaited_.erase(at);
    return arrival;
  }
  auto& arrival = early_.emplace(transfer, std::make_shared<IncomingPeer>()).first->second;
  count_unmatched();
  return arrival;
}

void PeerInbox::count_unmatched() {
  constexpr std::uint64_t kEarlySize = 128, kDiscardedSize = 64;  // estimated
  held_.follow(early_.size() * kEarlySize + discarded_.size() * kDiscardedSize);
}

void PeerInbox::wake(IncomingPeer& arrival) {
  if (arrival.awaited != 0) issuer_.finish_hold(std::exchange(arrival.awaited, 0));
}

void PeerInbox::arrived(TransferId transfer, std::int32_t status, Bytes data) {
  // Done first, because it may be refused; then the command still waits, for the end of the link.
  std::shared_ptr<HeldPayload> bytes;
  if (status == 0 && !discarded_.contains(transfer)) bytes = std::make_shared<HeldPayload>(counters_, data);
  const std::shared_ptr<IncomingPeer> arrival = arrival_of(transfer);
  if (!arrival) return;
  arrival->status = status;
  arrival->bytes = std::move(bytes);
  wake(*arrival);
}

void PeerInbox::announced(TransferId transfer, std::uint64_t size) {
  const std::shared_ptr<IncomingPeer> arrival = arrival_of(transfer);
  if (!arrival) return;
  arrival->announced = size;
  wake(*arrival);
}

void PeerInbox::fail_all(std::int32_t status) {
  for (auto& [transfer, arrival] : awaited_) {
    arrival->status = status;
    issuer_.finish_hold(std::exchange(arrival->awaited, 0));
  }
  clear();
}

void PeerInbox::clear() {
  awaited_.clear();
  early_.clear();
  discarded_.clear();
  count_unmatched();
}

}  // namespace remotecl::server
