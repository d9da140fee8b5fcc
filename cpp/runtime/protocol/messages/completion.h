#pragma once

#include "runtime/protocol/messages/message.h"

// The ends of commands, and the bytes that they deliver.
namespace remotecl {

// Answered by Finished once all earlier commands of the queue have ended.
struct Finish {
  REMOTECL_MESSAGE(Finish);
  ObjectId queue;
  Token token;
  REMOTECL_FIELDS(queue, token)
};
struct Finished {
  REMOTECL_MESSAGE(Finished);
  Token token;
  REMOTECL_FIELDS(token)
};
// Asks for one EventDone when the event ends. Reads, and writes that are pulled, report their end without it.
struct ObserveEvent {
  REMOTECL_MESSAGE(ObserveEvent);
  EventId event;
  REMOTECL_FIELDS(event)
};
struct EventDone {
  REMOTECL_MESSAGE(EventDone);
  EventId event;
  std::int32_t status;  // CL_COMPLETE or a negative error
  std::uint32_t has_profile;
  std::array<std::uint64_t, 4> profile;  // queued, submit, start, end in ns of the device's clock
  REMOTECL_FIELDS(event, status, has_profile, profile)
};
// A command failed after it was accepted. Sent when that happens, before any Finished of its queue.
struct CommandFailed {
  REMOTECL_MESSAGE(CommandFailed);
  ObjectId queue;
  EventId event;
  std::int32_t status;
  TransferId transfer = 0;  // of the command, if it had one: no more bytes will come
  REMOTECL_FIELDS(queue, event, status, transfer)
};
// The client will not name the event again.
struct ReleaseEvent {
  REMOTECL_MESSAGE(ReleaseEvent);
  EventId event;
  REMOTECL_FIELDS(event)
};
// An event that ends elsewhere (a user event, or on another server). Later wait lists may name it;
// SignalEvent ends it.
struct ExpectEvent {
  REMOTECL_MESSAGE(ExpectEvent);
  EventId event;
  PeerId peer = 0;  // the server that reports its end (ForwardEvent); 0: the client
  REMOTECL_FIELDS(event, peer)
};
struct SignalEvent {
  REMOTECL_MESSAGE(SignalEvent);
  EventId event;
  std::int32_t status;
  PeerId peer = 0;  // whose signal the client relays; ignored if the event is not expected from that peer
  REMOTECL_FIELDS(event, status, peer)
};
// Announces an event that ends with success when `of`, another one of this session, has ended, whether it succeeds or
// fails. For what has to come after a command but needs nothing of it.
struct ExpectEnd {
  REMOTECL_MESSAGE(ExpectEnd);
  EventId event;
  EventId of;
  std::uint32_t in_order;  // also after what came before the command in its queue, even if the command fails
  REMOTECL_FIELDS(event, of, in_order)
};

// The bytes of a read of at most kInlineDataMax bytes.
struct ReadData {
  REMOTECL_MESSAGE(ReadData);
  TransferId transfer;
  Bytes data;
  REMOTECL_FIELDS(transfer, data)
};
// A read on the bulk connection yields fewer bytes than requested, because the buffer's content ends earlier.
struct TransferSize {
  REMOTECL_MESSAGE(TransferSize);
  TransferId transfer;
  std::uint64_t size;
  REMOTECL_FIELDS(transfer, size)
};
// The server is ready for the bytes of a write; the client sends them on the bulk connection.
struct PullTransfer {
  REMOTECL_MESSAGE(PullTransfer);
  TransferId transfer;
  REMOTECL_FIELDS(transfer)
};
// How many bytes of pushed writes the server has consumed on a channel since the session began; the client
// may push that many more there.
struct PushesTaken {
  REMOTECL_MESSAGE(PushesTaken);
  std::uint32_t channel;
  std::uint64_t bytes;
  REMOTECL_FIELDS(channel, bytes)
};

}  // namespace remotecl
