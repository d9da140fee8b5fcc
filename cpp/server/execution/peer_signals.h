#pragma once

#include <cstdint>
#include <unordered_map>

#include "runtime/protocol/messages.h"
#include "server/execution/event_table.h"
#include "server/quota/held_memory.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// Events that end on other servers. The client announces which are expected, and peers or the client signal
// their ends. Owned by a session.
class PeerSignals {
 public:
  PeerSignals(EventTable& events, const Ref<SessionCounters>& counters) : events_(events), early_memory_(counters) {}
  PeerSignals(const PeerSignals&) = delete;
  PeerSignals& operator=(const PeerSignals&) = delete;

  // `peer`: the server that will signal it; 0: the client.
  void expect(EventId id, PeerId peer) REQUIRES(session_lock);
  void signal(EventId id, std::int32_t status) REQUIRES(session_lock);
  // The same for an event that the peer should have signalled, and may have.
  void signal_for(PeerId peer, EventId id, std::int32_t status) REQUIRES(session_lock);
  // The same from that peer, which may be faster than the client's expect().
  void signal_by(PeerId peer, EventId id, std::int32_t status) REQUIRES(session_lock);
  // The peer is lost: fails the events expected from it.
  void fail_expected(PeerId peer, std::int32_t status) REQUIRES(session_lock);
  // Drops the signals of events that are not expected by now.
  void forget_early(PeerId peer) REQUIRES(session_lock);

 private:
  void forget_early(PeerId peer, EventId id) REQUIRES(session_lock);
  void count_early() REQUIRES(session_lock);

  EventTable& events_;
  // Signals of events that are not expected yet.
  std::unordered_map<PeerId, std::unordered_map<EventId, std::int32_t>> early_ GUARDED_BY(session_lock);
  std::size_t early_count_ GUARDED_BY(session_lock) = 0;
  HeldMemory early_memory_ GUARDED_BY(session_lock);
};

}  // namespace remotecl::server
