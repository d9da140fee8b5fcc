#include "runtime/handshake/rdma_connector.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "runtime/transport/rdma/rdma_connection.h"
#include "runtime/transport/rdma/rdma_dialer.h"

namespace remotecl {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kRdmaDialTime = 10s;
constexpr std::chrono::milliseconds kMoveTime = 2s;  // for all addresses together; short, because commands wait
constexpr std::chrono::milliseconds kPauseAfterLoss = 100ms;
constexpr std::chrono::milliseconds kLossPauseMax = 30s;
constexpr std::chrono::milliseconds kLookEvery = 1s;
constexpr int kLastingPauses = 10;  // a channel that outlasts its pause so many times resets the pause

}  // namespace

RdmaConnector::RdmaConnector(std::vector<Address> addresses, std::uint64_t ticket, const Secret& key,
                             std::shared_ptr<RdmaSlot> slot)
    : addresses_(std::move(addresses)), ticket_(ticket), key_(key), slot_(std::move(slot)) {
  if (rdma_use() == RdmaUse::kRequire) connect();
}

void RdmaConnector::start(const Control& control) {
  control_ = control;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {  // TCP carries everything
    slot_->fail("no thread can be started for RDMA");
    slot_->end();
    if (rdma_use() == RdmaUse::kRequire) throw ConnectionError("no thread can be started for RDMA");
  }
}

RdmaConnector::~RdmaConnector() {
  stopped_.set();
  slot_->end();
  if (thread_.joinable()) thread_.join();
}

// Tries again after every failure except that this machine has no RDMA. A channel that can be made and then moves
// nothing counts as a failure, too, because each one costs its users the time until they notice.
void RdmaConnector::run() {
  if (slot_->get().channel == nullptr && try_to_connect() == Outcome::kImpossible) return;
  std::chrono::milliseconds pause = kPauseAfterLoss;
  for (;;) {
    look_after_control();
    const RdmaSlot::Seen seen = slot_->await_loss(kLookEvery);
    if (seen == RdmaSlot::Seen::kEnd) return;
    if (seen == RdmaSlot::Seen::kChannel) continue;
    if (!slot_->was_in_vain()) pause = kPauseAfterLoss;
    do {
      if (!rest(pause)) return;
      pause = std::min(2 * pause, kLossPauseMax);
    } while (try_to_connect() != Outcome::kConnected);
  }
}

// The control stream may have a channel of its own while bulk data has none. Returns false at the end.
bool RdmaConnector::rest(std::chrono::milliseconds pause) {
  const auto end = Clock::now() + pause;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return true;
    if (!slot_->rest(std::min(left, kLookEvery))) return false;
    look_after_control();
  }
}

RdmaConnector::Outcome RdmaConnector::try_to_connect() {
  try {
    connect();
    return Outcome::kConnected;
  } catch (const RdmaUnavailable& error) {
    slot_->fail(error.what());
    return Outcome::kImpossible;
  } catch (const std::exception& error) {  // TCP goes on
    slot_->fail(error.what());
    return Outcome::kFailed;
  }
}

void RdmaConnector::connect() {
  Dialed dialed = dial(RdmaPurpose::kBulk);
  slot_->put(std::move(dialed.channel), number_);
}

// Moves the control stream only while bulk data has a channel: a move holds up every command, so bulk data tries the
// way first, also after a loss. If the control stream's channel fails soon, the next move waits longer and longer. The
// stream never moves if a failed move would leave too little of the window to resume it.
void RdmaConnector::look_after_control() {
  if (control_.reconnector == nullptr || control_.stream == nullptr) return;
  if (control_.reconnector->window() < 2 * kMoveTime) return;
  if (const auto channel = control_channel_.lock(); channel != nullptr && channel->look_after()) return;
  if (std::exchange(has_moved_, false)) slot_->drop(slot_->get().channel);
  const auto now = Clock::now();
  if (slot_->get().channel == nullptr || now < moved_at_ + move_pause_) return;
  const bool has_lasted = now > moved_at_ + kLastingPauses * move_pause_;
  move_pause_ = has_lasted ? kPauseAfterLoss : std::min(2 * move_pause_, kLossPauseMax);
  has_moved_ =
      control_.reconnector->move(*control_.stream, [this](std::uint64_t received) { return move_control(received); });
  moved_at_ = Clock::now();
}

Reconnector::Onward RdmaConnector::move_control(std::uint64_t received) {
  Dialed dialed = dial(RdmaPurpose::kControl, received);
  control_channel_ = dialed.channel;
  return {std::make_shared<RdmaConnection>(std::move(dialed.channel)), dialed.reply.received};
}

RdmaConnector::Dialed RdmaConnector::dial(RdmaPurpose purpose, std::uint64_t received) {
  std::string failure = "RDMA: the server names no address";
  for (const Address& address : addresses_) {
    try {
      return dial(address, rdma_request(key_, ticket_, ++number_, purpose, received));
    } catch (const RdmaUnavailable&) {
      throw;
    } catch (const ConnectionError& error) {
      failure = error.what();
    }
  }
  throw ConnectionError(failure);
}

RdmaConnector::Dialed RdmaConnector::dial(const Address& address, const RdmaRequestWords& words) {
  auto held = slot_->hold(RdmaChannel::kOwnBytes);
  if (held == nullptr) throw RdmaUnavailable(std::string(rdma_reason::kHostMemory));
  const auto hello = encode_frame<RdmaRequestWords, kRdmaRequestSize>(words);
  const auto time =
      words.purpose == RdmaPurpose::kControl ? kMoveTime / static_cast<int>(addresses_.size()) : kRdmaDialTime;
  DialedRdma dialed = dial_rdma(address, hello, time, stopped_.handle());
  if (dialed.reply.size() != kRdmaReplySize) throw ConnectionError(address.text() + " answers RDMA in other words");
  const auto reply = decode_frame<RdmaReplyWords>(dialed.reply);
  if (!is_proved(key_, words, reply)) {
    throw ConnectionError(address.text() + " answers RDMA without knowing the stream's key");
  }
  dialed.channel->keep(std::move(held));
  return {std::move(dialed.channel), reply};
}

}  // namespace remotecl
