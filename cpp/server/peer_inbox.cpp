#include "server/peer_inbox.h"

#include "server/kept_bytes.h"

namespace remotecl::server {

std::shared_ptr<PeerArrival> PeerInbox::await(TransferId transfer) {
  if (const auto at = early_.find(transfer); at != early_.end()) {
    std::shared_ptr<PeerArrival> arrival = std::move(at->second);
    early_.erase(at);
    return arrival;
  }
  auto arrival = std::make_shared<PeerArrival>();
  arrival->awaited = session_.issuer().expect_hidden();
  if (!awaited_.emplace(transfer, arrival).second) {
    throw ProtocolError("transfer id " + std::to_string(transfer) + " is in use");
  }
  return arrival;
}

void PeerInbox::discard(TransferId transfer) {
  if (early_.erase(transfer) != 0) return;
  if (discarded_.size() >= kEarlyMax) throw ProtocolError("too many transfers that cannot be received");
  discarded_.insert(transfer);
}

bool PeerInbox::awaits(TransferId transfer) const { return awaited_.contains(transfer); }

void PeerInbox::arrived(TransferId transfer, std::int32_t status, Bytes data) {
  if (discarded_.erase(transfer) != 0) return;
  // First, because it may be refused: then the command still waits, for the end of the link.
  std::shared_ptr<KeptBytes> bytes;
  if (status == 0) bytes = std::make_shared<KeptBytes>(session_, data);
  std::shared_ptr<PeerArrival> arrival;
  if (const auto at = awaited_.find(transfer); at != awaited_.end()) {
    arrival = std::move(at->second);
    awaited_.erase(at);
  } else {
    if (early_.size() >= kEarlyMax) throw ProtocolError("too many transfers that nobody asked for");
    arrival = early_.emplace(transfer, std::make_shared<PeerArrival>()).first->second;
  }
  arrival->status = status;
  arrival->bytes = std::move(bytes);
  if (arrival->awaited != 0) session_.issuer().finish_hold(std::exchange(arrival->awaited, 0));
}

void PeerInbox::fail_all(std::int32_t status) {
  for (auto& [transfer, arrival] : awaited_) {
    arrival->status = status;
    session_.issuer().finish_hold(std::exchange(arrival->awaited, 0));
  }
  clear();
}

void PeerInbox::clear() {
  awaited_.clear();
  early_.clear();
  discarded_.clear();
}

}  // namespace remotecl::server
