#include "extras/kernel_sockets/space/datagram_endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "extras/kernel_sockets/space/layout.h"

namespace remotecl::server {
namespace {

constexpr std::uint32_t kDatagramMax = 65536;
constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_mapped(const SocketPeer& peer) { return std::equal(kMapped.begin(), kMapped.end(), peer.ip.begin()); }

// The address in the form that a socket of this family takes; its size, or 0.
socklen_t to_system(const SocketPeer& peer, int family, sockaddr_storage& storage) {
  storage = {};
  if (family == AF_INET6) {
    auto& address = reinterpret_cast<sockaddr_in6&>(storage);
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(peer.port);
    std::memcpy(&address.sin6_addr, peer.ip.data(), peer.ip.size());
    return sizeof address;
  }
  if (!is_mapped(peer)) return 0;
  auto& address = reinterpret_cast<sockaddr_in&>(storage);
  address.sin_family = AF_INET;
  address.sin_port = htons(peer.port);
  std::memcpy(&address.sin_addr, &peer.ip[12], 4);
  return sizeof address;
}

SocketPeer from_system(const sockaddr_storage& storage) {
  SocketPeer peer;
  if (storage.ss_family == AF_INET6) {
    const auto& address = reinterpret_cast<const sockaddr_in6&>(storage);
    peer.port = ntohs(address.sin6_port);
    std::memcpy(peer.ip.data(), &address.sin6_addr, peer.ip.size());
  } else if (storage.ss_family == AF_INET) {
    const auto& address = reinterpret_cast<const sockaddr_in&>(storage);
    peer.port = ntohs(address.sin_port);
    std::copy(kMapped.begin(), kMapped.end(), peer.ip.begin());
    std::memcpy(&peer.ip[12], &address.sin_addr, 4);
  }
  return peer;
}

}  // namespace

DatagramEndpoint::DatagramEndpoint(Descriptor socket) : socket_(std::move(socket)), datagram_(kDatagramMax) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0) family_ = own.ss_family;
}

Moved DatagramEndpoint::send(SendRing& ring) {
  Moved moved;
  while (ring.filled() >= layout::kRecordHeader) {
    std::uint32_t size = 0;
    ring.bytes().copy_out(ring.head(), &size, sizeof size);
    if (size > kDatagramMax || layout::record_size(size) > ring.filled()) {
      moved.error = EPROTO;
      return moved;
    }
    const int error = send_record(ring, size);
    moved.is_blocked = error == EAGAIN;
    if (error != 0 && !moved.is_blocked) moved.error = error;
    if (error != 0) return moved;
    ring.take(layout::record_size(size));
    moved.bytes += size;
  }
  if (ring.filled() != 0) moved.error = EPROTO;
  return moved;
}

int DatagramEndpoint::send_record(const SendRing& ring, std::uint32_t size) {
  SocketPeer peer;
  std::uint32_t port = 0;
  ring.bytes().copy_out(ring.head() + layout::kRecordPort, &port, sizeof port);
  ring.bytes().copy_out(ring.head() + layout::kRecordIp, peer.ip.data(), peer.ip.size());
  peer.port = static_cast<std::uint16_t>(port);
  sockaddr_storage to;
  socklen_t to_size = 0;
  if (port != 0) {
    if (!resolved_.use(peer) && !heard_.use(peer)) {
      return resolved_.has_forgotten() || heard_.has_forgotten() ? 0 : EACCES;
    }
    to_size = to_system(peer, family_, to);
    if (to_size == 0) return 0;  // no such address on a socket of this family
  }
  iovec pieces[2];
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = static_cast<std::size_t>(ring.bytes().pieces(ring.head() + layout::kRecordHeader, size, pieces));
  if (to_size != 0) {
    message.msg_name = &to;
    message.msg_namelen = to_size;
  }
  while (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? EAGAIN : 0;
  }
  return 0;
}

bool DatagramEndpoint::fetch() {
  if (has_fetched_) return true;
  sockaddr_storage from{};
  socklen_t from_size = sizeof from;
  for (int tries = 0; tries < 8; ++tries) {  // recvfrom() may report the failure of an earlier datagram
    const ssize_t came = ::recvfrom(socket_.get(), datagram_.data(), datagram_.size(), MSG_DONTWAIT,
                                    reinterpret_cast<sockaddr*>(&from), &from_size);
    if (came < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
      continue;
    }
    fetched_ = static_cast<std::uint32_t>(came);
    from_ = from_system(from);
    if (from_.port != 0) heard_.add(from_);
    return has_fetched_ = true;
  }
  return false;
}

Moved DatagramEndpoint::receive(ReceiveRing& ring) {
  Moved moved;
  while (true) {
    if (!fetch()) {
      moved.is_blocked = true;
      return moved;
    }
    // Cuts a datagram that can never fit, as recv() cuts one that does not fit into its buffer.
    const std::uint32_t size = std::min(fetched_, ring.bytes().size() - layout::kRecordHeader);
    if (layout::record_size(size) > ring.room()) return moved;
    std::array<std::byte, layout::kRecordHeader> header{};
    const std::uint32_t port = from_.port;
    std::memcpy(header.data(), &size, sizeof size);
    std::memcpy(&header[layout::kRecordPort], &port, sizeof port);
    std::memcpy(&header[layout::kRecordIp], from_.ip.data(), from_.ip.size());
    ring.bytes().copy_in(ring.tail(), header.data(), header.size());
    ring.bytes().copy_in(ring.tail() + layout::kRecordHeader, datagram_.data(), size);
    ring.put(layout::record_size(size));
    moved.bytes += size;
    has_fetched_ = false;
  }
}

}  // namespace remotecl::server
