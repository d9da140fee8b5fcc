#include "extras/rdma/rdma_acceptor.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "extras/rdma/rdma_ports.h"
#include "extras/rdma/rdma_stream.h"
#include "extras/rdma/socket_address.h"
#include "runtime/crypto/secret.h"
#include "runtime/handshake/bulk_upgrade.h"

namespace remotecl {
namespace {

bool is_unspecified(const std::string& host) { return host.empty() || host == "0.0.0.0" || host == "::"; }

// The addresses of active RDMA ports that `host` includes. Throws ConnectionError.
std::vector<Address> addresses_at(const std::string& host) {
  std::vector<std::string> numbers;
  if (!is_unspecified(host)) {
    for (SocketAddress& address : socket_addresses({host, 0})) numbers.push_back(address_of(address.get()).host);
  }
  std::vector<Address> addresses;
  for (const RdmaPort& port : active_rdma_ports()) {
    for (const std::string& number : port.addresses) {
      if (numbers.empty() || std::ranges::count(numbers, number) != 0) addresses.push_back({number, 0});
    }
  }
  if (addresses.empty()) throw ConnectionError("no active RDMA port has the address " + host);
  return addresses;
}

}  // namespace

void RdmaAcceptor::end() {
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mutex_);
    for (const auto& listener : listeners_) listener->stop();
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void RdmaAcceptor::listen() {
  const auto now = Clock::now();
  if (!listeners_.empty() || now < listens_again_) return;
  listens_again_ = now + kListensEvery;
  // Threads of former listeners, which no longer need this lock.
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  cause_.clear();
  try {
    for (const Address& address : addresses_at(host_)) {
      auto listener = std::make_unique<RdmaListener>(address);
      threads_.emplace_back([this, &listener = *listener] { run(listener); });
      listeners_.push_back(std::move(listener));
    }
  } catch (const ConnectionError& error) {
    cause_ = error.what();
  } catch (const std::system_error& error) {
    cause_ = error.what();
  }
}

std::vector<Address> RdmaAcceptor::addresses(std::string* cause) {
  const MutexLock lock(mutex_);
  listen();
  std::vector<Address> addresses;
  for (const auto& listener : listeners_) addresses.push_back(listener->address());
  if (cause != nullptr) *cause = cause_;
  return addresses;
}

std::shared_ptr<OffloadedStream> RdmaAcceptor::offer(const BulkEnd& end, RdmaOffer& offer) {
  auto slot = std::make_shared<RdmaSlot>(end.rdma_report, end.rdma_hold);
  offer = this->offer(end.rdma_key, slot);
  return std::make_shared<RdmaStream>(std::move(slot), nullptr);
}

RdmaOffer RdmaAcceptor::offer(const Secret& key, const std::shared_ptr<RdmaSlot>& slot) {
  const std::vector<Address> at = addresses();
  std::uint64_t ticket = 0;
  fill_random(std::as_writable_bytes(std::span(&ticket, 1)));
  const MutexLock lock(mutex_);
  std::erase_if(streams_, [](const auto& entry) { return entry.second.slot.expired(); });
  streams_[ticket] = {key, slot};
  return rdma_offer(ticket, at);
}

void RdmaAcceptor::run(RdmaListener& listener) {
  for (;;) {
    try {
      const std::unique_ptr<RdmaRequest> request = listener.next();
      if (request == nullptr) return;
      reply(*request);
    } catch (const RdmaUnavailable&) {
      return forget(listener);
    } catch (const std::exception&) {  // of this request
    }
  }
}

// The listener's device is gone, but the system does not remove it as long as somebody listens there.
void RdmaAcceptor::forget(const RdmaListener& listener) {
  std::unique_ptr<RdmaListener> former;  // destroyed after the lock
  const MutexLock lock(mutex_);
  const auto at = std::ranges::find(listeners_, &listener, &std::unique_ptr<RdmaListener>::get);
  former = std::move(*at);
  listeners_.erase(at);
  listens_again_ = {};
}

// A request that is not answered is refused.
void RdmaAcceptor::reply(RdmaRequest& request) {
  if (request.hello().size() != kRdmaRequestSize) return;
  const auto words = decode_frame<RdmaRequestWords>(request.hello());
  Stream stream;
  {
    const MutexLock lock(mutex_);
    const auto at = streams_.find(words.ticket);
    if (at == streams_.end()) return;
    stream = at->second;
  }
  if (words.number > kChunkNumberMask || !is_proved(stream.key, words)) return;
  const std::shared_ptr<RdmaSlot> slot = stream.slot.lock();
  if (slot == nullptr || words.number <= slot->get().number) return;
  const auto reply = encode_frame<RdmaReplyWords, kRdmaReplySize>(rdma_reply(stream.key, words));
  auto held = slot->hold(RdmaChannel::kOwnBytes);
  if (held == nullptr) return;
  try {
    auto channel = request.accept(reply);
    channel->keep(std::move(held));
    slot->put(std::move(channel), words.number);
  } catch (const ConnectionError& error) {
    slot->fail(error.what());
    throw;
  }
}

}  // namespace remotecl
