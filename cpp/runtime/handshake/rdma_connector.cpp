#include "runtime/handshake/rdma_connector.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "runtime/crypto/secret.h"
#include "runtime/transport/rdma/rdma_dialer.h"

namespace remotecl {
namespace {

using namespace std::chrono_literals;

constexpr auto kRdmaDialTime = 5s;
constexpr std::chrono::milliseconds kPauseAfterLoss = 100ms;
constexpr std::chrono::milliseconds kLossPauseMax = 30s;

}  // namespace

RdmaConnector::RdmaConnector(std::vector<Address> addresses, std::uint64_t ticket, const Secret& key,
                             std::shared_ptr<RdmaSlot> slot)
    : addresses_(std::move(addresses)), ticket_(ticket), key_(key), slot_(std::move(slot)) {
  const bool is_required = rdma_use() == RdmaUse::kRequire;
  if (is_required) connect();
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {  // bulk data goes by the stream
    slot_->end();
    if (is_required) throw ConnectionError("no thread can be started for RDMA");
  }
}

RdmaConnector::~RdmaConnector() {
  stopped_.set();
  slot_->end();
  if (thread_.joinable()) thread_.join();
}

// If the first attempt fails, there is no way by RDMA. Later ones may follow a failure that passes.
void RdmaConnector::run() {
  if (slot_->get().channel == nullptr && !try_to_connect()) return;
  while (slot_->await_loss()) {
    std::chrono::milliseconds pause = kPauseAfterLoss;
    do {
      if (!slot_->rest(pause)) return;
      pause = std::min(2 * pause, kLossPauseMax);
    } while (!try_to_connect());
  }
}

bool RdmaConnector::try_to_connect() {
  try {
    connect();
    return true;
  } catch (const std::exception&) {  // TCP goes on
    return false;
  }
}

void RdmaConnector::connect() {
  std::string failure = "RDMA: the server names no address";
  for (const Address& address : addresses_) {
    try {
      return dial(address);
    } catch (const RdmaUnavailable&) {
      throw;
    } catch (const ConnectionError& error) {
      failure = error.what();
    }
  }
  throw ConnectionError(failure);
}

void RdmaConnector::dial(const Address& address) {
  ++number_;
  const RdmaRequestWords words{ticket_, number_, connecting_rdma_proof(key_, ticket_, number_)};
  const auto hello = encode_frame<RdmaRequestWords, kRdmaRequestSize>(words);
  DialedRdma dialed = dial_rdma(address, hello, kRdmaDialTime, stopped_.handle());
  Secret proof{};
  if (dialed.answer.size() != proof.size()) throw ConnectionError(address.text() + " answers RDMA in other words");
  std::memcpy(proof.data(), dialed.answer.data(), proof.size());
  if (!same_secret(proof, accepting_rdma_proof(key_, ticket_, number_))) {
    throw ConnectionError(address.text() + " answers RDMA without knowing the stream's key");
  }
  slot_->put(std::move(dialed.channel), number_);
}

}  // namespace remotecl
