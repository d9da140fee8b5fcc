#pragma once

#include <cstdint>

#include "runtime/base/bytes.h"
#include "runtime/handshake/stream_pair.h"
#include "runtime/protocol/messages.h"
#include "server/execution/peer_signals.h"
#include "server/peer/link_signals.h"
#include "server/peer/link_transfers.h"
#include "server/peer/peer_inbox.h"

namespace remotecl::server {

class PeerLink;

// The parts of a link that its peer's messages affect.
struct PeerMessageContext {
  PeerId peer;
  PeerSignals& signals;
  PeerInbox& inbox;
  LinkSignals& link_signals;
  LinkTransfers& transfers;
  const StreamPair& streams;
  PeerLink& link;
};

// Decodes and handles a peer's message. Throws ProtocolError.
void dispatch_peer_message(const PeerMessageContext& context, std::uint16_t code, Bytes payload) REQUIRES(session_lock);

}  // namespace remotecl::server
