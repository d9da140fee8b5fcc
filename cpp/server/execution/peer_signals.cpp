#include "server/execution/peer_signals.h"

#include <string>

#include "server/util/protocol_error.h"

namespace remotecl::server {

void PeerSignals::expect(EventId id, PeerId peer) {
  events_.expect(id, peer);
  const auto by_peer = early_.find(peer);
  if (by_peer == early_.end()) return;
  const auto early = by_peer->second.find(id);
  if (early == by_peer->second.end()) return;
  const std::int32_t status = early->second;
  by_peer->second.erase(early);
  --early_count_;
  count_early();
  signal(id, status);
}

void PeerSignals::signal(EventId id, std::int32_t status) {
  Event* event = events_.find(id);
  if (event == nullptr || event->state == Event::State::kEnded) return;
  if (event->state != Event::State::kExpected) {
    throw ProtocolError("event id " + std::to_string(id) + " is signalled but not expected");
  }
  events_.signal(*event, status);
}

void PeerSignals::signal_for(PeerId peer, EventId id, std::int32_t status) {
  const Event* event = events_.find(id);
  if (event == nullptr) return forget_early(peer, id);
  if (event->expected_of == peer) signal(id, status);
}

void PeerSignals::signal_by(PeerId peer, EventId id, std::int32_t status) {
  if (const Event* event = events_.find(id)) {
    if (event->expected_of != peer) {
      throw ProtocolError("event id " + std::to_string(id) + " is signalled by a peer that it is not expected from");
    }
    return signal(id, status);
  }
  auto& early = early_[peer];
  if (early.emplace(id, status).second) ++early_count_;
  try {
    count_early();
  } catch (const HeldTooMuch&) {
    // The peer's link ends. The session goes on and needs the memory, unless it was the client that signalled.
    early_count_ -= early.size();
    early_.erase(peer);
    count_early();
    throw;
  }
}

void PeerSignals::fail_expected(PeerId peer, std::int32_t status) {
  for (const EventId id : events_.expected_of(peer)) signal(id, status);
}

void PeerSignals::forget_early(PeerId peer) {
  const auto early = early_.find(peer);
  if (early == early_.end()) return;
  early_count_ -= early->second.size();
  early_.erase(early);
  count_early();
}

void PeerSignals::forget_early(PeerId peer, EventId id) {
  const auto early = early_.find(peer);
  if (early == early_.end() || early->second.erase(id) == 0) return;
  --early_count_;
  count_early();
}

void PeerSignals::count_early() {
  constexpr std::uint64_t kEarlySize = 64;  // estimated
  early_memory_.follow(early_count_ * kEarlySize);
}

}  // namespace remotecl::server
