// Handles each message of a peer.
#include "server/peer/peer_messages.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "server/peer/peer_link.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

void handle(const PeerMessageContext& context, const PeerSignal& message) REQUIRES(session_lock) {
  context.signals.signal_by(context.peer, message.event, message.status);
  context.link_signals.take();
}

void handle(const PeerMessageContext& context, const PeerAck& message) {
  context.link_signals.acknowledged(message.signals);
}

void handle(const PeerMessageContext& context, const PeerData& message) REQUIRES(session_lock) {
  const std::int32_t status = std::min(message.status, 0);
  if (status == 0 || context.inbox.awaits(message.transfer)) {
    context.inbox.arrived(message.transfer, status, message.data);
  } else {
    context.transfers.refused(message.transfer, status);
  }
}

void handle(const PeerMessageContext& context, const PeerSize& message) REQUIRES(session_lock) {
  context.inbox.announced(message.transfer, message.size);
}

void handle(const PeerMessageContext& context, const PullTransfer& message) {
  context.transfers.pulled(message.transfer);
}

void handle(const PeerMessageContext& context, const DropTransfer& message) {
  context.transfers.dropped(message.transfer);
}

void handle(const PeerMessageContext& context, const ServerReceived& message) {
  if (message.channel != 0 || !context.streams.acknowledged(message.stream, message.bytes)) {
    throw ProtocolError("a peer has received more than was sent");
  }
}

void handle(const PeerMessageContext& context, const Leave&) { context.streams.end_when_broken(); }

void handle(const PeerMessageContext& context, const ConnectName& message) { context.link.arguments()->take(message); }
void handle(const PeerMessageContext& context, const NameReply& message) { context.link.arguments()->take(message); }
void handle(const PeerMessageContext& context, const PipeData& message) { context.link.arguments()->take(message); }
void handle(const PeerMessageContext& context, const PipeCredit& message) { context.link.arguments()->take(message); }
void handle(const PeerMessageContext& context, const PipeEnd& message) { context.link.arguments()->take(message); }

template <class Message>
void take(const PeerMessageContext& context, Bytes payload) REQUIRES(session_lock) {
  Message message{};
  Decoder decoder(payload);
  if (!decoder.read(message) || !decoder.at_end()) {
    throw ProtocolError("a peer's " + std::string(message_name(Message::kCode)) + " message is malformed");
  }
  handle(context, message);
}

struct Entry {
  std::uint16_t code;
  void (*take)(const PeerMessageContext&, Bytes payload);
};

constexpr Entry kTable[] = {
#define REMOTECL_COMMAND(name, number, thread)
#define REMOTECL_REPORT(name, number)
#define REMOTECL_PEER_MESSAGE(name, number) {number, &take<name>},
#include "runtime/protocol/commands.def"
    // Messages of a client's connection that mean the same between peers.
    {PullTransfer::kCode, &take<PullTransfer>},
    {ServerReceived::kCode, &take<ServerReceived>},
    {Leave::kCode, &take<Leave>},
};

}  // namespace

void dispatch_peer_message(const PeerMessageContext& context, std::uint16_t code, Bytes payload) {
  const auto* const entry = std::ranges::find(kTable, code, &Entry::code);
  if (entry == std::end(kTable)) {
    throw ProtocolError("a peer sent message code " + std::to_string(code) + ", which is not known");
  }
  entry->take(context, payload);
}

}  // namespace remotecl::server
