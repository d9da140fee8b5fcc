#include "extras/kernel_sockets/space/open_broker.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace remotecl::testing {
namespace {

using server::SocketAddress;
using Kind = SocketAddress::Kind;

struct Target {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

int find(const SocketAddress& address, Target& target) {
  if (address.kind == Kind::kUnix) {
    auto& path = reinterpret_cast<sockaddr_un&>(target.storage);
    path.sun_family = AF_UNIX;
    std::strncpy(path.sun_path, address.host.c_str(), sizeof path.sun_path - 1);
    target.size = sizeof path;
    return 0;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found) != 0) {
    return -EHOSTUNREACH;
  }
  std::memcpy(&target.storage, found->ai_addr, found->ai_addrlen);
  target.size = found->ai_addrlen;
  ::freeaddrinfo(found);
  return 0;
}

int make_socket(const SocketAddress& address, const Target& target) {
  const int type = address.kind == Kind::kUdp ? SOCK_DGRAM : SOCK_STREAM;
  const int socket = ::socket(target.storage.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  return socket < 0 ? -errno : socket;
}

int close_with(int socket, int error) {
  ::close(socket);
  return -error;
}

}  // namespace

int OpenBroker::connect(const SocketAddress& address) {
  if (!refused_.empty() && address.host == refused_) return -EACCES;
  Target target;
  if (const int error = find(address, target)) return error;
  const int socket = make_socket(address, target);
  if (socket < 0) return socket;
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&target.storage), target.size) != 0 && errno != EINPROGRESS) {
    return close_with(socket, errno);
  }
  return socket;
}

int OpenBroker::bind(const SocketAddress& address, int backlog, std::uint16_t& port) {
  if (!refused_.empty() && address.host == refused_) return -EACCES;
  Target target;
  if (const int error = find(address, target)) return error;
  const int socket = make_socket(address, target);
  if (socket < 0) return socket;
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&target.storage), target.size) != 0) {
    return close_with(socket, errno);
  }
  if (address.kind != Kind::kUdp && ::listen(socket, backlog) != 0) return close_with(socket, errno);
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size);
  if (own.ss_family == AF_INET) port = ntohs(reinterpret_cast<const sockaddr_in&>(own).sin_port);
  if (own.ss_family == AF_INET6) port = ntohs(reinterpret_cast<const sockaddr_in6&>(own).sin6_port);
  return socket;
}

int OpenBroker::resolve(const SocketAddress& address, server::SocketPeer& peer) {
  if (!refused_.empty() && address.host == refused_) return -EACCES;
  Target target;
  if (const int error = find(address, target)) return error;
  if (target.storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(target.storage);
    peer.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    std::memcpy(&peer.ip[12], &v4.sin_addr, 4);
  } else {
    std::memcpy(peer.ip.data(), &reinterpret_cast<const sockaddr_in6&>(target.storage).sin6_addr, 16);
  }
  peer.port = address.port;
  return 0;
}

}  // namespace remotecl::testing
