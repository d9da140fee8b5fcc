#include <cstring>

#include "server/completion/completion_notifier.h"
#include "server/handlers/handlers.h"
#include "server/transfer/bulk_commands.h"
#include "server/transfer/content_limited_send.h"
#include "server/transfer/cut_through_send.h"
#include "server/transfer/direct_access.h"
#include "server/transfer/held_payload.h"

namespace remotecl::server {

void check_peer(PeerId peer) {
  if (!PeerTable::can_be(peer)) throw ProtocolError("peer " + std::to_string(peer) + " cannot be");
}

namespace {

// Reads what fits into a message, and sends it as soon as it is available. The receiver keeps it until it can
// be used.
struct SmallSendCommand {
  static constexpr bool kLong = false;

  Session* session;
  Region region;
  TransferId transfer;
  Ref<PeerLink> peer;
  Outbox::Reservation reservation;

  void failed(cl_int error) { peer->refuse(transfer, error); }
  cl_int issue(Issue& issue) REQUIRES(session_lock) {
    if (const std::byte* const from = direct_access(issue, region)) {
      peer->send(transfer, {from, region.size});
      issue.ended_directly();
      return CL_SUCCESS;
    }
    const std::shared_ptr<std::byte[]> bytes = issue.queue.device().memory().pinned().take(region.size);
    const cl_int error = region.read(issue.queue.device(), issue.queue.native(), bytes.get(), issue.wait_count(),
                                     issue.wait_list(), issue.native.out());
    if (error != CL_SUCCESS) return error;
    session->completions().notify(
        issue.native.get(), [session = Ref<Session>(session), peer = peer, bytes, size = region.size, id = transfer,
                             queue = issue.queue.id(), reservation = reservation](cl_int status) {
          if (status == CL_COMPLETE) return peer->send(id, {bytes.get(), size});
          peer->refuse(id, status);
          session->outbox().send(CommandFailed{queue, 0, status, id});
        });
    return CL_SUCCESS;
  }
};

// Writes bytes that came with a message.
cl_int write_arrived(Issue& issue, const Strand& strand, const Region& region,
                     const std::shared_ptr<IncomingBytes>& incoming) REQUIRES(session_lock) {
  const Bytes bytes = incoming->bytes->bytes();
  if (std::byte* const to = direct_access(issue, region)) {
    std::memcpy(to, bytes.data(), bytes.size());
    issue.ended_directly();
    return CL_SUCCESS;
  }
  const cl_int error = region.write(issue.queue.device(), issue.queue.native(), bytes.data(), issue.wait_count(),
                                    issue.wait_list(), issue.native.out());
  if (error == CL_SUCCESS) strand.completions().notify(issue.native.get(), [incoming](cl_int) {});
  return error;
}

// Receives a transfer whose size the peer announces: one that is limited by a content size, or a small one
// from a peer whose connection is crowded.
struct LimitedReceiveCommand {
  static constexpr bool kLong = true;

  TransferTable* transfers;
  Region region;
  std::shared_ptr<IncomingBytes> incoming;
  TransferId transfer;
  Ref<PeerLink> peer;
  bool is_limited;

  void failed(cl_int) REQUIRES(session_lock) {
    if (incoming->announced != 0) peer->drop(transfer);
  }
  cl_int issue(Issue& issue) REQUIRES(session_lock) {
    if (incoming->status < 0) return incoming->status;
    const std::uint64_t size = incoming->bytes ? incoming->bytes->bytes().size() : incoming->announced;
    if (size > region.size || (size < region.size && !is_limited)) return CL_INVALID_VALUE;
    region.size = size;
    if (!incoming->bytes && size != 0) return BulkWriteCommand{transfers, region, transfer, peer}.issue(issue);
    issue.goes_on = false;
    if (region.size != 0) return write_arrived(issue, transfers->strand(), region, incoming);
    if (issue.waits.empty()) return issue.queue.device().ended_event(issue.native.out());
    return clEnqueueMarkerWithWaitList(issue.queue.native(), issue.wait_count(), issue.wait_list(), issue.native.out());
  }
};

// Receives a small transfer. Whether the bytes come in a message or are announced shows only when they
// arrive.
struct SmallReceiveCommand {
  static constexpr bool kLong = false;

  LimitedReceiveCommand receive;

  void failed(cl_int error) REQUIRES(session_lock) { receive.failed(error); }
  cl_int issue(Issue& issue) REQUIRES(session_lock) {
    issue.goes_on = true;
    return receive.issue(issue);
  }
};

}  // namespace

void handle(Session& session, const AcceptPeer& message) {
  check_peer(message.peer);
  session.peers().accept(message.peer, message.link, message.secret);
}

void handle(Session& session, const ConnectPeer& message) {
  check_peer(message.peer);
  PeerTable::Attempt attempt{message.peer, message.link, {message.session, message.epoch, message.secret}, {}, {}};
  if (!message.key_pin.empty()) {
    KeyPin pin{};
    if (message.key_pin.size() != pin.size()) throw ProtocolError("the pin of a peer's key has a wrong size");
    std::copy_n(message.key_pin.begin(), pin.size(), std::as_writable_bytes(std::span(pin)).begin());
    attempt.pin = pin;
  }
  message.addresses.for_each([&](const PeerAddress& address) {
    if (address.host.size() > PeerTable::kHostMax) throw ProtocolError("the name of a peer's host is too long");
    if (attempt.addresses.size() < PeerTable::kAddressesMax) {
      attempt.addresses.push_back({std::string(address.host), address.port});
    }
  });
  session.peers().connect(std::move(attempt));
}

void handle(Session& session, const ClosePeer& message) {
  check_peer(message.peer);
  session.peers().close(message.peer, message.is_gone != 0);
  if (message.is_gone == 0) return;
  session.signals().fail_expected(message.peer, CL_DEVICE_NOT_AVAILABLE);
  session.signals().forget_early(message.peer);
}

void handle(Session& session, const ForwardEvent& message) {
  if (const Ref<PeerLink> link = session.peers().find(message.peer, PeerTable::kOrLost)) {
    session.events().forward(message.event, link);
  } else {
    throw ProtocolError("an event is forwarded to peer " + std::to_string(message.peer) + ", which never was linked");
  }
}

void handle(Session& session, const EnqueueSend& message) {
  Queue& on = session.objects().queue(message.queue);
  Event* event = session.issuer().begin_event(message.event, on, false);
  Ref<PeerLink> peer = session.peers().find(message.peer);
  if (!peer) return session.issuer().fail(on, event, CL_OUT_OF_RESOURCES, message.transfer);
  Region region;
  const cl_int error = session.objects().region_of(message, region);
  if (error != CL_SUCCESS) {
    peer->refuse(message.transfer, error);
    return session.issuer().fail(on, event, error, message.transfer);
  }
  std::vector<EventId> waits;
  for (std::size_t i = 0; i < message.wait_list.size(); ++i) waits.push_back(message.wait_list[i]);
  if (message.followed != 0) {
    Ref<TransferProgress> progress = session.transfers().find_progress(message.followed);
    if (progress && region.size > kInlineDataMax) {
      return session.issuer().submit(
          on, event, message.wait_list,
          CutThroughSend{std::move(region), message.transfer, std::move(peer), std::move(progress)});
    }
    waits.push_back(message.followed_event);
  }
  const Array<EventId> wait_list{std::span<const EventId>(waits)};
  if (message.content_size != 0) {
    Ref<Buffer> size(session.objects().buffers.find(message.content_size));
    if (!size || !region.is_range() || !size->contains(0, sizeof(std::uint64_t))) {
      peer->refuse(message.transfer, CL_INVALID_MEM_OBJECT);
      return session.issuer().fail(on, event, CL_INVALID_MEM_OBJECT, message.transfer);
    }
    session.issuer().submit(on, event, wait_list,
                            ContentLimitedSend{&session.transfers(), std::move(region), std::move(size),
                                               message.transfer, std::move(peer)});
  } else if (region.size <= kInlineDataMax && !peer->is_crowded()) {
    Outbox::Reservation reservation = peer->reserve(region.size);
    session.issuer().submit(
        on, event, wait_list,
        SmallSendCommand{&session, std::move(region), message.transfer, std::move(peer), std::move(reservation)});
  } else {
    if (region.size <= kInlineDataMax) peer->announce(message.transfer, region.size);
    session.issuer().submit(
        on, event, wait_list,
        BulkReadCommand{&session.transfers(), std::move(region), message.transfer, std::move(peer)});
  }
}

void handle(Session& session, const EnqueueReceive& message) {
  Queue& on = session.objects().queue(message.queue);
  const bool is_small = message.size <= kInlineDataMax || message.is_limited != 0;
  Event* event = session.issuer().begin_event(message.event, on, true, is_small);
  Ref<PeerLink> peer = session.peers().find(message.peer);
  if (!peer) return session.issuer().fail(on, event, CL_OUT_OF_RESOURCES, message.transfer);
  Region region;
  cl_int error = peer->take_refusal(message.transfer);
  if (error != CL_SUCCESS) return session.issuer().fail(on, event, error, message.transfer);
  error = session.objects().region_of(message, region);
  if (error != CL_SUCCESS) {
    if (is_small) {
      peer->inbox().discard(message.transfer);
    } else {
      peer->drop(message.transfer);
    }
    return session.issuer().fail(on, event, error, message.transfer);
  }
  if (is_small) {
    std::shared_ptr<IncomingBytes> incoming = peer->inbox().await(message.transfer);
    const EventId awaited = incoming->awaited;
    const bool is_limited = message.is_limited != 0, is_announced = incoming->announced != 0;
    LimitedReceiveCommand command{&session.transfers(), std::move(region), std::move(incoming),
                                  message.transfer,     std::move(peer),   is_limited};
    if (is_limited || is_announced) {
      session.issuer().submit(on, event, message.wait_list, std::move(command), false, false, awaited);
    } else {
      session.issuer().submit(on, event, message.wait_list, SmallReceiveCommand{std::move(command)}, false, false,
                              awaited);
    }
  } else {
    session.issuer().submit(on, event, message.wait_list,
                            BulkWriteCommand{&session.transfers(), std::move(region), message.transfer, std::move(peer),
                                             session.transfers().begin_progress(message.transfer)});
  }
}

}  // namespace remotecl::server
