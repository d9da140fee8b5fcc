#pragma once

#include <atomic>
#include <string>

#include "extras/kernel_sockets/space/socket_broker.h"

namespace remotecl::testing {

// Opens whatever a kernel asks for, except what it has been told to refuse.
class OpenBroker final : public server::SocketBroker {
 public:
  explicit OpenBroker(std::string refused_host = "") : refused_(std::move(refused_host)) {}

  int connect(const server::SocketAddress& address) override;
  int bind(const server::SocketAddress& address, int backlog, std::uint16_t& port) override;
  int resolve(const server::SocketAddress& address, server::SocketPeer& peer) override;

 private:
  const std::string refused_;
};

}  // namespace remotecl::testing
