#include "extras/kernel_sockets/server/daemon_socket_broker.h"

#include <algorithm>
#include <cerrno>

#include "extras/kernel_sockets/server/local_socket_broker.h"

namespace remotecl::server {

int DaemonSocketBroker::connect(const SocketAddress& address) {
  if (address.kind == SocketAddress::Kind::kUdp) return -EOPNOTSUPP;
  return open_(address.text(), -1);
}

int DaemonSocketBroker::bind(const SocketAddress& address, int backlog, std::uint16_t& port) {
  if (address.kind == SocketAddress::Kind::kUdp) return -EOPNOTSUPP;
  const int socket = open_(address.text(), std::max(backlog, 0));
  port = socket < 0 ? 0 : port_of(socket);
  return socket;
}

int DaemonSocketBroker::resolve(const SocketAddress&, SocketPeer&) { return -EOPNOTSUPP; }

}  // namespace remotecl::server
