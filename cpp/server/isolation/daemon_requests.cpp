#include "server/isolation/daemon_requests.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

namespace remotecl::server {

std::uint64_t DaemonRequests::begin() {
  MutexLock lock(mutex_);
  replies_[++last_];
  return last_;
}

DaemonRequests::Reply DaemonRequests::await(std::uint64_t number, bool is_sent, const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    MutexLock lock(mutex_);
    changed_.notify_all();
  });
  MutexLock lock(mutex_);
  while (is_sent && !stopped_ && !stop.stop_requested() && !replies_[number].is_there) changed_.wait(mutex_);
  Reply reply = std::move(replies_[number]);
  replies_.erase(number);
  return reply;
}

SessionChannel::Packet DaemonRequests::dial(const LinkDialer::Wanted& wanted, std::chrono::milliseconds timeout,
                                            Deadline deadline, const std::stop_token& stop) {
  const std::uint64_t number = begin();
  const JoinRequest& request = wanted.request;
  std::vector<PeerAddress> addresses;
  for (const Address& address : wanted.addresses) addresses.push_back({address.host, address.port});
  const auto patience =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  const DialMessage message{number,
                            request.role,
                            request.invitation.session,
                            request.invitation.epoch,
                            request.invitation.secret,
                            request.features,
                            request.received ? 1u : 0u,
                            request.received.value_or(0),
                            std::span<const PeerAddress>(addresses),
                            wanted.pin ? std::as_bytes(std::span(*wanted.pin)) : Bytes(),
                            static_cast<std::uint32_t>(timeout.count()),
                            static_cast<std::uint32_t>(std::clamp<std::int64_t>(patience, 1, UINT32_MAX))};
  return std::move(await(number, channel_.deliver(PacketType::kDial, message), stop).dialed);
}

int DaemonRequests::open(const SharedMemoryOffer& offer) {
  const std::uint64_t number = begin();
  const OpenMessage message{number, offer.process, offer.descriptor, offer.cookie};
  return await(number, channel_.deliver(PacketType::kOpen, message)).descriptor.release();
}

int DaemonRequests::find(const Digest& key) {
  const std::uint64_t number = begin();
  return await(number, channel_.deliver(PacketType::kFind, StoreMessage{number, key})).descriptor.release();
}

int DaemonRequests::open_upload(const Digest& key, std::uint64_t& checksum) {
  const std::uint64_t number = begin();
  Reply reply = await(number, channel_.deliver(PacketType::kOpenUpload, StoreMessage{number, key}));
  checksum = reply.checksum;
  return reply.descriptor.release();
}

int DaemonRequests::open_socket(const std::string& address, int backlog) {
  const std::uint64_t number = begin();
  Reply reply = await(number, channel_.deliver(PacketType::kOpenSocket, SocketMessage{number, address, backlog}));
  if (reply.descriptor.valid()) return reply.descriptor.release();
  return reply.error < 0 ? reply.error : -ECANCELED;
}

void DaemonRequests::store(PacketType type, const Digest& key, const Descriptor& memory) {
  const std::uint64_t number = begin();
  await(number, channel_.deliver(type, StoreMessage{number, key}, {memory.get()}));
}

void DaemonRequests::done(SessionChannel::Packet packet) {
  DoneMessage message;
  if (!packet.read(message)) return;
  MutexLock lock(mutex_);
  const auto at = replies_.find(message.number);
  if (at == replies_.end()) return;
  at->second.is_there = true;
  at->second.failure = message.failure;
  at->second.error = packet.lacks_descriptors ? -EMFILE : message.error;
  at->second.checksum = message.checksum;
  if (!packet.descriptors.empty()) at->second.descriptor = std::move(packet.descriptors.front());
  changed_.notify_all();
}

void DaemonRequests::dialed(SessionChannel::Packet packet) {
  DialedMessage message;
  if (!packet.read(message)) return;
  MutexLock lock(mutex_);
  const auto at = replies_.find(message.number);
  if (at == replies_.end()) return;
  at->second.is_there = true;
  at->second.dialed = std::move(packet);
  changed_.notify_all();
}

void DaemonRequests::stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace remotecl::server
