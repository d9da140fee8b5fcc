#include "server/bulk_commands.h"
#include "server/completion_notifier.h"
#include "server/kept_bytes.h"
#include "server/session.h"

namespace remotecl::server {
namespace {

void check(PeerId peer) {
  if (peer == 0 || peer > PeerTable::kPeersMax) {
    throw ProtocolError("peer " + std::to_string(peer) + " cannot be");
  }
}

// Reads what fits a message and sends it as soon as it is there: whoever receives it keeps it until it can be used.
struct SmallSendCommand {
  static constexpr bool kLong = false;

  Session* session;
  Region region;
  TransferId transfer;
  Ref<PeerLink> peer;

  void keep(Session&) {}
  void failed(cl_int error) { peer->refuse(transfer, error); }
  cl_int issue(Issue& issue) {
    std::shared_ptr<std::byte[]> bytes(new std::byte[region.size]);
    const cl_int error = region.read(issue.queue.device(), issue.queue.native(), bytes.get(), issue.wait_count(),
                                     issue.wait_list(), &issue.native);
    if (error != CL_SUCCESS) return error;
    CompletionNotifier::notify(issue.native, [session = Ref<Session>(session), peer = peer, bytes, size = region.size,
                                              id = transfer, queue = issue.queue.id()](cl_int status) {
      if (status == CL_COMPLETE) return peer->send(id, {bytes.get(), size});
      peer->refuse(id, status);
      session->outbox().send(CommandFailed{queue, 0, status, id});
    });
    return CL_SUCCESS;
  }
};

struct SmallReceiveCommand {
  static constexpr bool kLong = false;

  Region region;
  std::shared_ptr<PeerArrival> arrival;

  void keep(Session&) {}
  cl_int issue(Issue& issue) {
    if (arrival->status < 0) return arrival->status;
    const Bytes bytes = arrival->bytes->bytes();
    if (bytes.size() != region.size) return CL_INVALID_VALUE;
    const cl_int error = region.write(issue.queue.device(), issue.queue.native(), bytes.data(), issue.wait_count(),
                                      issue.wait_list(), &issue.native);
    if (error == CL_SUCCESS) CompletionNotifier::notify(issue.native, [arrival = arrival](cl_int) {});
    return error;
  }
};

}  // namespace

void Session::handle(const AcceptPeer& message) {
  check(message.peer);
  peers_.accept(message.peer, message.link, message.secret);
}

void Session::handle(const ConnectPeer& message) {
  check(message.peer);
  PeerTable::Attempt attempt{message.peer, message.link, message.session, message.epoch, message.secret, {}};
  message.addresses.for_each([&](const PeerAddress& address) {
    if (address.host.size() > PeerTable::kHostMax) throw ProtocolError("the name of a peer's host is too long");
    if (attempt.addresses.size() < PeerTable::kAddressesMax) {
      attempt.addresses.push_back({std::string(address.host), address.port});
    }
  });
  peers_.connect(std::move(attempt));
}

void Session::handle(const ClosePeer& message) {
  check(message.peer);
  peers_.close(message.peer, message.is_gone != 0);
  if (message.is_gone != 0) issuer_.fail_expected(message.peer, CL_DEVICE_NOT_AVAILABLE);
}

void Session::handle(const ForwardEvent& message) {
  if (const Ref<PeerLink> link = peers_.find(message.peer, PeerTable::kOrLost)) {
    issuer_.forward(message.event, link);
  } else {
    throw ProtocolError("an event is forwarded to peer " + std::to_string(message.peer) + ", which never was linked");
  }
}

template <class Message>
cl_int Session::region_of(const Message& message, Region& region) {
  if (message.is_image != 0) {
    Ref<Image> image(images_.find(message.memory));
    if (!image) return CL_INVALID_MEM_OBJECT;
    const Extent whole = image->shape().whole();
    region.size = image->shape().packed_size(whole);
    for (int i = 0; i < 3; ++i) region.extent[i] = whole[i];
    region.image = std::move(image);
    return region.size == message.size && message.offset == 0 ? CL_SUCCESS : CL_INVALID_VALUE;
  }
  Ref<Buffer> buffer(buffers_.find(message.memory));
  if (!buffer) return CL_INVALID_MEM_OBJECT;
  if (message.size == 0 || !buffer->contains(message.offset, message.size)) return CL_INVALID_VALUE;
  region = {std::move(buffer), false, message.offset, message.size};
  return CL_SUCCESS;
}

void Session::handle(const EnqueueSend& message) {
  Queue& on = queue(message.queue);
  Event* event = issuer_.begin_event(message.event, on, false);
  Ref<PeerLink> peer = peers_.find(message.peer);
  if (!peer) return issuer_.fail(on, event, CL_OUT_OF_RESOURCES, message.transfer);
  Region region;
  const cl_int error = region_of(message, region);
  if (error != CL_SUCCESS) {
    peer->refuse(message.transfer, error);
    return issuer_.fail(on, event, error, message.transfer);
  }
  if (region.size <= kInlineDataMax) {
    issuer_.submit(on, event, message.wait_list,
                   SmallSendCommand{this, std::move(region), message.transfer, std::move(peer)});
  } else {
    issuer_.submit(on, event, message.wait_list,
                   BulkReadCommand{this, std::move(region), message.transfer, std::move(peer)});
  }
}

void Session::handle(const EnqueueReceive& message) {
  Queue& on = queue(message.queue);
  Event* event = issuer_.begin_event(message.event, on, true);
  Ref<PeerLink> peer = peers_.find(message.peer);
  if (!peer) return issuer_.fail(on, event, CL_OUT_OF_RESOURCES, message.transfer);
  Region region;
  const bool is_small = message.size <= kInlineDataMax;
  cl_int error = peer->take_refusal(message.transfer);
  if (error != CL_SUCCESS) return issuer_.fail(on, event, error, message.transfer);
  error = region_of(message, region);
  if (error != CL_SUCCESS) {
    if (is_small) {
      peer->inbox().discard(message.transfer);
    } else {
      peer->drop(message.transfer);
    }
    return issuer_.fail(on, event, error, message.transfer);
  }
  if (is_small) {
    std::shared_ptr<PeerArrival> arrival = peer->inbox().await(message.transfer);
    const EventId awaited = arrival->awaited;
    issuer_.submit(on, event, message.wait_list, SmallReceiveCommand{std::move(region), std::move(arrival)}, false,
                   false, awaited);
  } else {
    issuer_.submit(on, event, message.wait_list,
                   BulkWriteCommand{this, std::move(region), message.transfer, std::move(peer)});
  }
}

}  // namespace remotecl::server
