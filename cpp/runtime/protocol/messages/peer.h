#pragma once

#include "runtime/protocol/frames.h"
#include "runtime/protocol/messages/message.h"

// Links between servers of one client: how they are made, and the messages that they carry.
namespace remotecl {

// ---- from the client

// Lets a peer that proves to know `secret` connect to this session.
struct AcceptPeer {
  REMOTECL_MESSAGE(AcceptPeer);
  PeerId peer;
  LinkId link;
  Secret secret;
  REMOTECL_FIELDS(peer, link, secret)
};
struct PeerAddress {
  std::string_view host;
  std::uint16_t port;
  REMOTECL_FIELDS(host, port)
};
// Connects to a session of another server, which has been sent AcceptPeer, at the first address that answers.
struct ConnectPeer {
  REMOTECL_MESSAGE(ConnectPeer);
  PeerId peer;
  LinkId link;
  std::uint64_t session;
  std::uint64_t epoch;
  Secret secret;
  Sequence<PeerAddress> addresses;
  // SHA-256 of the key that the server must present in TLS; empty: the link is in plain text.
  Bytes key_pin = {};
  REMOTECL_FIELDS(peer, link, session, epoch, secret, addresses, key_pin)
};
// Ends the link. `is_gone`: the peer's session is lost, and the events expected from it fail.
struct ClosePeer {
  REMOTECL_MESSAGE(ClosePeer);
  PeerId peer;
  std::uint32_t is_gone;
  REMOTECL_FIELDS(peer, is_gone)
};
// Asks to signal a peer, which has been sent ExpectEvent, when the event ends.
struct ForwardEvent {
  REMOTECL_MESSAGE(ForwardEvent);
  EventId event;
  PeerId peer;
  REMOTECL_FIELDS(event, peer)
};
// Sends bytes of a buffer, or all pixels of an image, to a peer that has an EnqueueReceive of the same
// transfer.
struct EnqueueSend {
  REMOTECL_MESSAGE(EnqueueSend);
  ObjectId queue;
  EventId event;
  ObjectId memory;
  std::uint32_t is_image;  // then offset is 0, and size that of the packed pixels
  std::uint64_t offset;
  std::uint64_t size;
  TransferId transfer;
  PeerId peer;
  Array<EventId> wait_list;
  ObjectId content_size = 0;  // a buffer that says how many bytes of `memory` are meaningful; 0: all
  // The transfer that brings the same bytes to this server, and its event. They may be forwarded while they
  // arrive. Both are 0 if there is none.
  TransferId followed = 0;
  EventId followed_event = 0;
  REMOTECL_FIELDS(queue, event, memory, is_image, offset, size, transfer, peer, wait_list, content_size, followed,
                  followed_event)
};
struct EnqueueReceive {
  REMOTECL_MESSAGE(EnqueueReceive);
  ObjectId queue;
  EventId event;
  ObjectId memory;
  std::uint32_t is_image;
  std::uint64_t offset;
  std::uint64_t size;
  TransferId transfer;
  PeerId peer;
  Array<EventId> wait_list;
  std::uint32_t is_limited = 0;  // the sender has a content_size, and first announces how many bytes come
  REMOTECL_FIELDS(queue, event, memory, is_image, offset, size, transfer, peer, wait_list, is_limited)
};

// ---- to the client

// The link is connected, or it is not (any more), and why.
struct PeerState {
  REMOTECL_MESSAGE(PeerState);
  PeerId peer;
  LinkId link;
  std::uint32_t is_connected;
  std::string_view text;
  REMOTECL_FIELDS(peer, link, is_connected, text)
};
// A forwarded event has ended, but the link is lost: the client must signal the peer.
struct SignalUndelivered {
  REMOTECL_MESSAGE(SignalUndelivered);
  PeerId peer;
  EventId event;
  std::int32_t status;
  REMOTECL_FIELDS(peer, event, status)
};

// ---- between peers, like PullTransfer

struct PeerSignal {
  REMOTECL_MESSAGE(PeerSignal);
  EventId event;
  std::int32_t status;
  REMOTECL_FIELDS(event, status)
};
// How many signals have been processed so far.
struct PeerAck {
  REMOTECL_MESSAGE(PeerAck);
  std::uint64_t signals;
  REMOTECL_FIELDS(signals)
};
// The bytes of a transfer of at most kInlineDataMax bytes; or an error, after which no bytes come for the
// transfer, whatever its size.
struct PeerData {
  REMOTECL_MESSAGE(PeerData);
  TransferId transfer;
  std::int32_t status;
  Bytes data;
  REMOTECL_FIELDS(transfer, status, data)
};
// How many bytes of a limited transfer will come, if they are too many for PeerData.
struct PeerSize {
  REMOTECL_MESSAGE(PeerSize);
  TransferId transfer;
  std::uint64_t size;
  REMOTECL_FIELDS(transfer, size)
};
// The bytes of a transfer are not wanted any more.
struct DropTransfer {
  REMOTECL_MESSAGE(DropTransfer);
  TransferId transfer;
  REMOTECL_FIELDS(transfer)
};

// ---- between peers: connections of kernels

// Connects a kernel to the name that a kernel of the peer has bound. The sender chooses `pipe`, on which the peer may
// send `window` bytes.
struct ConnectName {
  REMOTECL_MESSAGE(ConnectName);
  PipeId pipe;
  std::uint32_t window;
  std::string_view name;
  REMOTECL_FIELDS(pipe, window, name)
};
// The answer: an errno, or 0 and the peer's number for its own end, to which the other messages of the connection go.
struct NameReply {
  REMOTECL_MESSAGE(NameReply);
  PipeId pipe;
  std::int32_t error;
  PipeId far;
  std::uint32_t window;
  REMOTECL_FIELDS(pipe, error, far, window)
};
// `pipe` is the receiver's end, here and below.
struct PipeData {
  REMOTECL_MESSAGE(PipeData);
  PipeId pipe;
  Bytes data;
  REMOTECL_FIELDS(pipe, data)
};
// A kernel has taken this many bytes, so as many more may be sent.
struct PipeCredit {
  REMOTECL_MESSAGE(PipeCredit);
  PipeId pipe;
  std::uint32_t bytes;
  REMOTECL_FIELDS(pipe, bytes)
};
// The sender's kernel sends no more. `is_closed`: it takes no more, either.
struct PipeEnd {
  REMOTECL_MESSAGE(PipeEnd);
  PipeId pipe;
  std::uint32_t is_closed;
  REMOTECL_FIELDS(pipe, is_closed)
};

}  // namespace remotecl
