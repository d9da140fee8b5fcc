#include "extras/rdma/rdma_connector.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "extras/rdma/rdma_dialer.h"
#include "runtime/handshake/rdma_wish.h"

namespace remotecl {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kRdmaDialTime = 10s;
constexpr std::chrono::milliseconds kPauseAfterLoss = 100ms;
constexpr std::chrono::milliseconds kLossPauseMax = 30s;
constexpr std::chrono::milliseconds kLookEvery = 1s;

}  // namespace

RdmaConnector::RdmaConnector(std::vector<Address> addresses, std::uint64_t ticket, const Secret& key,
                             std::shared_ptr<RdmaSlot> slot)
    : addresses_(std::move(addresses)), ticket_(ticket), key_(key), slot_(std::move(slot)) {
  if (rdma_use() == RdmaUse::kRequire) connect();
}

void RdmaConnector::start() {
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
    const RdmaSlot::Seen seen = slot_->await_loss(kLookEvery);
    if (seen == RdmaSlot::Seen::kEnd) return;
    if (seen == RdmaSlot::Seen::kChannel) continue;
    if (!slot_->was_in_vain()) pause = kPauseAfterLoss;
    do {
      if (!slot_->rest(pause)) return;
      pause = std::min(2 * pause, kLossPauseMax);
    } while (try_to_connect() != Outcome::kConnected);
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
  std::string failure = "RDMA: the server names no address";
  for (const Address& address : addresses_) {
    try {
      std::shared_ptr<RdmaChannel> channel = dial(address, rdma_request(key_, ticket_, ++number_));
      slot_->put(std::move(channel), number_);
      return;
    } catch (const RdmaUnavailable&) {
      throw;
    } catch (const ConnectionError& error) {
      failure = error.what();
    }
  }
  throw ConnectionError(failure);
}

std::shared_ptr<RdmaChannel> RdmaConnector::dial(const Address& address, const RdmaRequestWords& words) {
  auto held = slot_->hold(RdmaChannel::kOwnBytes);
  if (held == nullptr) throw RdmaUnavailable(std::string(rdma_reason::kHostMemory));
  const auto hello = encode_frame<RdmaRequestWords, kRdmaRequestSize>(words);
  DialedRdma dialed = dial_rdma(address, hello, kRdmaDialTime, stopped_.handle());
  if (dialed.reply.size() != kRdmaReplySize) throw ConnectionError(address.text() + " answers RDMA in other words");
  if (!is_proved(key_, words, decode_frame<RdmaReplyWords>(dialed.reply))) {
    throw ConnectionError(address.text() + " answers RDMA without knowing the stream's key");
  }
  dialed.channel->keep(std::move(held));
  return std::move(dialed.channel);
}

}  // namespace remotecl
