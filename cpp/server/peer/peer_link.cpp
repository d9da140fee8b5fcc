#include "server/peer/peer_link.h"

#include <algorithm>

#include "runtime/protocol/message_buffer.h"
#include "server/completion/event_poller.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

constexpr cl_int kLinkLost = CL_OUT_OF_RESOURCES;

template <class Message>
Message decode(Bytes payload) {
  Message message{};
  Decoder decoder(payload);
  if (!decoder.read(message) || !decoder.at_end()) {
    throw ProtocolError("a peer's " + std::string(message_name(Message::kCode)) + " message is malformed");
  }
  return message;
}

}  // namespace

PeerLink::PeerLink(const PeerContext& context, PeerId peer, LinkId id, const Secret& secret, StreamCarrier control,
                   StreamCarrier bulk)
    : context_(context),
      peer_(peer),
      id_(id),
      secret_(secret),
      control_(make_control(std::move(control))),
      bulk_(make_bulk(std::move(bulk))),
      outbox_(*control_, context.transfers.counters()),
      bulk_receiver_(context.transfers, outbox_, BulkReceiver::Pushes::kRefused),
      bulk_sender_(context.transfers, [this] { close(); }),
      inbox_(context.issuer, context.transfers.counters()),
      unmatched_(context.transfers.counters()) {}

bool PeerLink::lost() const {
  MutexLock lock(mutex_);
  return lost_;
}

void PeerLink::start() {
  bulk_sender_.connect(*bulk_);
  bulk_receiver_.connect(*bulk_);
  bulk_reader_ = std::thread([this] { receive_bulk(); });
  reader_ = std::thread([this] { run(); });
}

void PeerLink::close() {
  if (streams_.control() != nullptr) outbox_.close_with(Leave{});  // or the peer would wait for this side
  control_->shutdown();
  bulk_->shutdown();
}

void PeerLink::stop() {
  close();
  if (reconnector_) reconnector_->stop();
  if (reader_.joinable()) {
    reader_.join();
  } else if (bulk_reader_.joinable()) {  // there was no thread for the other one
    bulk_reader_.join();
  }
}

void PeerLink::run() {
  try {
    serve();
  } catch (const std::exception& error) {
    fail(error);
    // Of a command of this session that became ready, not of the peer.
    context_.strand.close(error.what());
  }
  close();
  bulk_reader_.join();
  outbox_.stop();
  try {
    give_up();
  } catch (const std::exception& error) {
    context_.strand.close(error.what());
  }
}

void PeerLink::fail(const std::exception& error) {
  const LogScope scope(context_.strand.id());
  log_warning("peer {}: {}", peer_, error.what());
  MutexLock lock(mutex_);
  if (reason_.empty()) reason_ = error.what();
}

void PeerLink::serve() {
  MessageBuffer buffer;
  HeldMemory received(context_.transfers.counters());
  EventPoller poller(context_.strand.completions());
  bool broken = false;
  while (!broken) {
    if (!received.try_follow(buffer.next_excess())) {
      return fail(HeldTooMuch("a peer's message is longer than the limit host-memory allows"));
    }
    const std::size_t count = poller.read_some(*control_, buffer.space());
    if (count == 0) return;
    buffer.commit(count);
    const bool goes_on = context_.strand.with_lock([&] {
      // What the messages before a wrong one have caused still happens.
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
    bulk_receiver_.run(*bulk_);
  } catch (const ProtocolError& error) {
    fail(error);
  } catch (const std::exception& error) {
    fail(error);
    context_.strand.close(error.what());
  }
  close();
}

Traffic PeerLink::traffic() const {
  return {control_->bytes_sent(), outbox_.messages(),       control_->bytes_received(), messages_received_.load(),
          bulk_->bytes_sent(),    bulk_sender_.transfers(), bulk_->bytes_received(),    bulk_receiver_.transfers()};
}

void PeerLink::execute(std::uint16_t code, Bytes payload) {
  messages_received_.fetch_add(1, std::memory_order_relaxed);
  switch (code) {
    case Code::kPeerSignal:
      return take(decode<PeerSignal>(payload));
    case Code::kPeerAck:
      return take(decode<PeerAck>(payload));
    case Code::kPeerData:
      return take(decode<PeerData>(payload));
    case Code::kPeerSize:
      return take(decode<PeerSize>(payload));
    case Code::kPullTransfer:
      return take(decode<PullTransfer>(payload));
    case Code::kDropTransfer:
      return take(decode<DropTransfer>(payload));
    case Code::kServerReceived:
      return take(decode<ServerReceived>(payload));
    case Code::kLeave:
      return take(decode<Leave>(payload));
    default:
      throw ProtocolError("a peer sent message code " + std::to_string(code) + ", which is not known");
  }
}

std::uint64_t PeerLink::unmatched_size() const {
  constexpr std::uint64_t kEach = 64;  // about
  return kEach * (pulled_early_.size() + dropped_early_.size() + refused_.size() + unacknowledged_.size());
}

void PeerLink::take(const PeerSignal& message) {
  context_.signals.signal_by(peer_, message.event, message.status);
  if (++signals_taken_ % kSignalsPerAck == 0) outbox_.send(PeerAck{signals_taken_});
}

void PeerLink::take(const PeerAck& message) {
  MutexLock lock(mutex_);
  if (message.signals > acknowledged_ + unacknowledged_.size()) {
    throw ProtocolError("a peer acknowledges signals that it did not get");
  }
  for (; acknowledged_ < message.signals; ++acknowledged_) unacknowledged_.pop_front();
  unmatched_.follow(unmatched_size());
}

void PeerLink::take(const PeerData& message) {
  const std::int32_t status = std::min(message.status, 0);
  if (status == 0 || inbox_.awaits(message.transfer)) return inbox_.arrived(message.transfer, status, message.data);
  Ref<IncomingTransfer> failed;
  {
    MutexLock lock(mutex_);
    failed = bulk_receiver_.cancel(message.transfer);
    if (!failed) {
      refused_.emplace(message.transfer, status);
      unmatched_.follow(unmatched_size());
      return;
    }
  }
  context_.transfers.fail(std::move(failed), status);
}

void PeerLink::take(const PeerSize& message) { inbox_.announced(message.transfer, message.size); }

void PeerLink::take(const PullTransfer& message) {
  MutexLock lock(mutex_);
  const auto at = offers_.find(message.transfer);
  if (at == offers_.end()) {
    pulled_early_.insert(message.transfer);
    unmatched_.follow(unmatched_size());
    return;
  }
  bulk_sender_.post(std::move(at->second));
  offers_.erase(at);
}

void PeerLink::take(const DropTransfer& message) {
  Ref<OutgoingTransfer> dropped;
  {
    MutexLock lock(mutex_);
    const auto at = offers_.find(message.transfer);
    if (at == offers_.end()) {
      dropped_early_.insert(message.transfer);
      unmatched_.follow(unmatched_size());
      return;
    }
    dropped = std::move(at->second);
    offers_.erase(at);
  }
  context_.transfers.fail(std::move(dropped), CL_OUT_OF_RESOURCES);
}

void PeerLink::signal(EventId event, std::int32_t status) {
  {
    MutexLock lock(mutex_);
    if (!lost_) {
      unacknowledged_.push_back({event, status});
      outbox_.send(PeerSignal{event, status});
      if (!unmatched_.try_follow(unmatched_size())) close();
      return;
    }
  }
  context_.client.send(SignalUndelivered{peer_, event, status});
}

void PeerLink::send(TransferId transfer, Bytes data) { outbox_.send(PeerData{transfer, 0, data}); }
void PeerLink::announce(TransferId transfer, std::uint64_t size) { outbox_.send(PeerSize{transfer, size}); }

void PeerLink::refuse(TransferId transfer, std::int32_t status) {
  {
    MutexLock lock(mutex_);
    pulled_early_.erase(transfer);
    if (dropped_early_.erase(transfer) != 0) return;  // the peer has failed before
  }
  outbox_.send(PeerData{transfer, status, {}});
}

void PeerLink::drop(TransferId transfer) {
  {
    MutexLock lock(mutex_);
    if (refused_.erase(transfer) != 0) return;
  }
  outbox_.send(DropTransfer{transfer});
}

void PeerLink::offer(Ref<OutgoingTransfer> transfer) {
  {
    MutexLock lock(mutex_);
    const bool unwanted = lost_ || dropped_early_.erase(transfer->id()) != 0;
    if (!unwanted && pulled_early_.erase(transfer->id()) != 0) return bulk_sender_.post(std::move(transfer));
    if (!unwanted) {
      const TransferId id = transfer->id();
      offers_.emplace(id, std::move(transfer));
      return;
    }
  }
  context_.transfers.fail(std::move(transfer), kLinkLost);
}

void PeerLink::pull(Ref<IncomingTransfer> transfer) {
  std::int32_t status = kLinkLost;
  {
    MutexLock lock(mutex_);
    const auto refusal = refused_.find(transfer->id());
    if (refusal != refused_.end()) {
      status = refusal->second;
      refused_.erase(refusal);
    } else if (!lost_ && bulk_receiver_.pull(transfer)) {
      return;
    }
  }
  context_.transfers.fail(std::move(transfer), status);
}

std::int32_t PeerLink::take_refusal(TransferId transfer) {
  MutexLock lock(mutex_);
  const auto at = refused_.find(transfer);
  if (at == refused_.end()) return 0;
  const std::int32_t status = at->second;
  refused_.erase(at);
  return status;
}

std::string PeerLink::end_of_streams() const {
  std::string reason = streams_.reason();
  if (!reason.empty()) {
    const LogScope scope(context_.strand.id());
    log_warning("gives up the link to peer {}: {}", peer_, reason);
    return reason;
  }
  const bool vanished = control_->vanished() || bulk_->vanished();
  return vanished ? "the other server does not answer any more" : "the other server closed the connection";
}

void PeerLink::give_up() {
  std::string reason = end_of_streams();
  std::deque<Signal> unacknowledged;
  std::vector<Ref<Transfer>> failed;
  {
    MutexLock lock(mutex_);
    lost_ = true;
    if (!reason_.empty()) reason = reason_;
    pulled_early_.clear();
    dropped_early_.clear();
    refused_.clear();
    unacknowledged.swap(unacknowledged_);
    for (auto& [id, transfer] : offers_) failed.push_back(std::move(transfer));
    offers_.clear();
    unmatched_.follow(0);
  }
  for (auto& transfer : bulk_sender_.stop()) failed.push_back(std::move(transfer));
  for (auto& transfer : bulk_receiver_.take_all()) failed.push_back(std::move(transfer));
  for (auto& transfer : failed) context_.transfers.fail(std::move(transfer), kLinkLost);
  context_.strand.with_lock([this] { inbox_.fail_all(kLinkLost); });
  for (const Signal& signal : unacknowledged) {
    context_.client.add(SignalUndelivered{peer_, signal.event, signal.status});
  }
  context_.client.send(PeerState{peer_, id_, 0, reason});
}

}  // namespace remotecl::server
