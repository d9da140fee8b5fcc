#include "server/peer/peer_link.h"

#include <system_error>
#include <utility>
#include <vector>

#include "runtime/protocol/message_buffer.h"
#include "server/completion/event_poller.h"
#include "server/peer/peer_messages.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {

PeerLink::PeerLink(const PeerContext& context, PeerId peer, LinkId id, const Secret& secret, StreamCarrier control,
                   StreamCarrier bulk)
    : context_(context),
      peer_(peer),
      id_(id),
      secret_(secret),
      connections_(context_, peer, std::move(control), std::move(bulk),
                   [this](StreamKind stream, std::uint64_t received) {
                     outbox_.send(ServerReceived{stream, 0, received});
                   }),
      outbox_(connections_.control(), context.transfers.counters()),
      bulk_receiver_(context.transfers, outbox_, BulkReceiver::Pushes::kRefused),
      bulk_sender_(context.transfers,
                   [this](const std::string& lack) {
                     if (!lack.empty()) loss_.add_reason(lack);
                     close();
                   }),
      inbox_(context.issuer, context.transfers.counters()),
      signals_(outbox_, context.transfers.counters()),
      transfers_(context.transfers, bulk_receiver_, bulk_sender_, outbox_),
      arguments_(context.arguments.link(outbox_)) {}

bool PeerLink::start() {
  bulk_sender_.connect(connections_.bulk());
  bulk_receiver_.connect(connections_.bulk());
  try {
    reader_ = std::thread([this] { context_.strand.guard([this] { run(); }); });
    return true;
  } catch (const std::system_error& error) {
    fail(error);
    return false;
  }
}

void PeerLink::close() {
  if (connections_.streams().control() != nullptr)
    outbox_.close_with(Leave{});  // otherwise the peer would wait for this side
  connections_.shutdown();
}

void PeerLink::stop() {
  close();
  connections_.stop_reconnecting();
  if (reader_.joinable()) reader_.join();
  arguments_->close();  // again, if the link has not begun
}

void PeerLink::run() {
  try {
    serve();
  } catch (const std::exception& error) {
    fail(error);
    // The error comes from a command of this session that became ready, not from the peer.
    context_.strand.fail(error);
  }
  end();
}

void PeerLink::end() {
  close();
  if (bulk_reader_.joinable()) bulk_reader_.join();
  outbox_.stop();
  try {
    give_up();
  } catch (const std::exception& error) {
    context_.strand.fail(error);
  }
}

void PeerLink::fail(const std::exception& error) {
  const LogScope scope(context_.strand.id());
  const std::string words = words_of(error);
  log_warning("peer {}: {}", peer_, words);
  loss_.add_reason(words);
}

void PeerLink::serve() {
  try {
    bulk_reader_ = std::thread([this] { context_.strand.guard([this] { receive_bulk(); }); });
  } catch (const std::system_error& error) {
    return fail(error);
  }
  MessageBuffer buffer;
  HeldMemory received(context_.transfers.counters());
  EventPoller poller(context_.strand.completions());
  bool broken = false;
  while (!broken) {
    if (!received.try_follow(buffer.next_excess())) {
      return fail(HeldTooMuch("a peer's message is longer than the limit host-memory allows"));
    }
    const std::size_t count = poller.read_some(connections_.control(), buffer.space());
    if (count == 0) return;
    buffer.commit(count);
    const bool goes_on = context_.strand.with_lock([&]() REQUIRES(session_lock) {
      // The effects of the messages before an invalid one stay.
      try {
        std::uint16_t code = 0;
        Bytes payload;
        auto next = MessageBuffer::Next::kNeedMore;
        for (std::size_t i = 1; (next = buffer.next(code, payload)) == MessageBuffer::Next::kMessage; ++i) {
          execute(code, payload);
          if (i % EventPoller::kMessagesPerLook == 0) poller.leave();
        }
        if (next == MessageBuffer::Next::kBroken) throw ProtocolError("a peer's message is longer than allowed");
      } catch (const ProtocolError& error) {
        fail(error);
        broken = true;
      }
    });
    if (!goes_on) return;
  }
}

void PeerLink::receive_bulk() {
  try {
    bulk_receiver_.run(connections_.bulk());
    if (!connections_.bulk().violation().empty()) throw ProtocolError(connections_.bulk().violation());
  } catch (const ProtocolError& error) {
    fail(error);
  } catch (const std::exception& error) {
    fail(error);
    context_.strand.fail(error);
  }
  close();
}

Traffic PeerLink::traffic() const {
  const Connection& control = connections_.control();
  const BulkTransport& bulk = connections_.bulk();
  const RdmaState rdma = bulk.rdma();
  return {control.bytes_sent(),
          outbox_.messages(),
          control.bytes_received(),
          messages_received_.load(),
          bulk.bytes_sent() + rdma.bytes_sent,
          bulk_sender_.transfers(),
          bulk.bytes_received() + rdma.bytes_received,
          bulk_receiver_.transfers(),
          bulk.compression()};
}

void PeerLink::execute(std::uint16_t code, Bytes payload) {
  messages_received_.fetch_add(1, std::memory_order_relaxed);
  dispatch_peer_message({peer_, context_.signals, inbox_, signals_, transfers_, connections_.streams(), *this}, code,
                        payload);
}

void PeerLink::signal(EventId event, std::int32_t status) {
  const LinkSignals::Sent sent = signals_.send({event, status});
  if (sent == LinkSignals::Sent::kTooMany) close();
  if (sent == LinkSignals::Sent::kLinkLost) context_.client.send(SignalUndelivered{peer_, event, status});
}

void PeerLink::send(TransferId transfer, Bytes data) { outbox_.send(PeerData{transfer, 0, data}); }
void PeerLink::announce(TransferId transfer, std::uint64_t size) { outbox_.send(PeerSize{transfer, size}); }

void PeerLink::give_up() {
  const std::string reason = loss_.finish(connections_.end());
  arguments_->close();
  const auto unacknowledged = signals_.close();
  std::vector<Ref<Transfer>> failed;
  for (auto& transfer : transfers_.close()) failed.push_back(std::move(transfer));
  for (auto& transfer : bulk_sender_.stop()) failed.push_back(std::move(transfer));
  for (auto& transfer : bulk_receiver_.take_all()) failed.push_back(std::move(transfer));
  for (auto& transfer : failed) context_.transfers.fail(std::move(transfer), kLinkLost);
  context_.strand.with_lock([this]() REQUIRES(session_lock) { inbox_.fail_all(kLinkLost); });
  for (const LinkSignals::Signal& signal : unacknowledged) {
    context_.client.add(SignalUndelivered{peer_, signal.event, signal.status});
  }
  context_.client.send(PeerState{peer_, id_, 0, reason});
}

}  // namespace remotecl::server
