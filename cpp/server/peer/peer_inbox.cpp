#include "server/peer/peer_inbox.h"

#include "server/execution/issuer.h"
#include "server/transfer/held_payload.h"

namespace remotecl::server {

PeerInbox::PeerInbox(Issuer& issuer, const Ref<SessionCounters>& counters)
    : issuer_(issuer), counters_(counters), held_(counters) {}

std::shared_ptr<IncomingBytes> PeerInbox::await(TransferId transfer) {
  if (const auto at = early_.find(transfer); at != early_.end()) {
    std::shared_ptr<IncomingBytes> incoming = std::move(at->second);
    early_.erase(at);
    count_unmatched();
    return incoming;
  }
  auto incoming = std::make_shared<IncomingBytes>();
  incoming->awaited = issuer_.begin_internal();
  if (!awaited_.emplace(transfer, incoming).second) {
    throw ProtocolError("transfer id " + std::to_string(transfer) + " is in use");
  }
  return incoming;
}

void PeerInbox::discard(TransferId transfer) {
  if (early_.erase(transfer) != 0) return;
  discarded_.insert(transfer);
  count_unmatched();
}

bool PeerInbox::awaits(TransferId transfer) const { return awaited_.contains(transfer); }

std::shared_ptr<IncomingBytes> PeerInbox::take_entry(TransferId transfer) {
  if (discarded_.erase(transfer) != 0) return nullptr;
  if (const auto at = awaited_.find(transfer); at != awaited_.end()) {
    std::shared_ptr<IncomingBytes> incoming = std::move(at->second);
    awaited_.erase(at);
    return incoming;
  }
  auto& incoming = early_.emplace(transfer, std::make_shared<IncomingBytes>()).first->second;
  count_unmatched();
  return incoming;
}

void PeerInbox::count_unmatched() {
  constexpr std::uint64_t kEarlySize = 128, kDiscardedSize = 64;  // estimated
  held_.follow(early_.size() * kEarlySize + discarded_.size() * kDiscardedSize);
}

void PeerInbox::wake(IncomingBytes& incoming) {
  if (incoming.awaited != 0) issuer_.finish_hold(std::exchange(incoming.awaited, 0));
}

void PeerInbox::arrived(TransferId transfer, std::int32_t status, Bytes data) {
  // Allocated first: if the memory is refused, the link ends, and the command must still be waiting for that.
  std::shared_ptr<HeldPayload> bytes;
  if (status == 0 && !discarded_.contains(transfer)) bytes = std::make_shared<HeldPayload>(counters_, data);
  const std::shared_ptr<IncomingBytes> incoming = take_entry(transfer);
  if (!incoming) return;
  incoming->status = status;
  incoming->bytes = std::move(bytes);
  wake(*incoming);
}

void PeerInbox::announced(TransferId transfer, std::uint64_t size) {
  const std::shared_ptr<IncomingBytes> incoming = take_entry(transfer);
  if (!incoming) return;
  incoming->announced = size;
  wake(*incoming);
}

void PeerInbox::fail_all(std::int32_t status) {
  for (auto& [transfer, incoming] : awaited_) {
    incoming->status = status;
    issuer_.finish_hold(std::exchange(incoming->awaited, 0));
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
