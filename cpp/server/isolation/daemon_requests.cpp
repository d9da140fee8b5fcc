#include "server/isolation/daemon_requests.h"

#include <cerrno>
#include <utility>

#include "runtime/transport/connection.h"

namespace remotecl::server {

std::uint64_t DaemonRequests::begin() {
  MutexLock lock(mutex_);
  replies_[++last_];
  return last_;
}

DaemonRequests::Reply DaemonRequests::await(std::uint64_t number, bool is_sent) {
  MutexLock lock(mutex_);
  while (is_sent && !stopped_ && !replies_[number].is_there) changed_.wait(mutex_);
  Reply reply = std::move(replies_[number]);
  replies_.erase(number);
  return reply;
}

int DaemonRequests::connect(const Address& address, std::chrono::milliseconds timeout) {
  const std::uint64_t number = begin();
  const auto timeout_ms = static_cast<std::uint32_t>(timeout.count());
  Reply reply =
      await(number, channel_.deliver(PacketType::kDial, DialMessage{number, address.host, address.port, timeout_ms}));
  if (reply.descriptor.valid()) return reply.descriptor.release();
  throw ConnectionError(!reply.failure.empty() ? reply.failure
                                               : "cannot connect to " + address.text() + ": the server is ending");
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
  at->second.error = message.error;
  at->second.checksum = message.checksum;
  if (!packet.descriptors.empty()) at->second.descriptor = std::move(packet.descriptors.front());
  changed_.notify_all();
}

void DaemonRequests::stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace remotecl::server
