#pragma once

#include <utility>

#include "extras/kernel_sockets/space/socket_broker.h"
#include "server/arguments/argument_provider.h"

namespace remotecl::server {

// Sockets for the kernels of a session's process, which may not open any, so the daemon opens them and hands them over.
// There are none for datagrams, because the process could send from them to any address. Any thread except the one
// that receives from the channel.
class DaemonSocketBroker final : public SocketBroker {
 public:
  explicit DaemonSocketBroker(OpenForKernel open) : open_(std::move(open)) {}

  int connect(const SocketAddress& address) override;
  int bind(const SocketAddress& address, int backlog, std::uint16_t& port) override;
  int resolve(const SocketAddress& address, SocketPeer& peer) override;

 private:
  const OpenForKernel open_;
};

}  // namespace remotecl::server
