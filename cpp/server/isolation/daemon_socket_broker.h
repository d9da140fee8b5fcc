#pragma once

#include "server/isolation/daemon_requests.h"
#include "server/network/socket_broker.h"

namespace remotecl::server {

// Sockets for the kernels of a session's process, which may not open any, so the daemon opens them and hands them over.
// There are none for datagrams, because the process could send from them to any address. Any thread except the one
// that receives from the channel.
class DaemonSocketBroker final : public SocketBroker {
 public:
  explicit DaemonSocketBroker(DaemonRequests& requests) : requests_(requests) {}

  int connect(const SocketAddress& address) override;
  int bind(const SocketAddress& address, int backlog, std::uint16_t& port) override;
  int resolve(const SocketAddress& address, SocketPeer& peer) override;

 private:
  DaemonRequests& requests_;
};

}  // namespace remotecl::server
