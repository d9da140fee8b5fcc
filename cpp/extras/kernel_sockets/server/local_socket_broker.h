#pragma once

#include <string>
#include <vector>

#include "extras/kernel_sockets/server/socket_audit.h"
#include "extras/kernel_sockets/server/socket_permissions.h"
#include "extras/kernel_sockets/space/socket_broker.h"
#include "server/admission/own_ports.h"

namespace remotecl::server {

// Opens sockets in this process, where the operator allows it. Any thread.
class LocalSocketBroker final : public SocketBroker {
 public:
  // `ports`: to which nothing is connected, whatever is allowed; they outlive this.
  LocalSocketBroker(SocketPermissions permissions, const OwnPorts& ports, std::uint64_t session, std::string user)
      : permissions_(std::move(permissions)), ports_(ports), audit_(session, std::move(user)) {}

  int connect(const SocketAddress& address) override;
  int bind(const SocketAddress& address, int backlog, std::uint16_t& port) override;
  int resolve(const SocketAddress& address, SocketPeer& peer) override;

 private:
  using For = SocketRules::For;

  // The addresses of the name that are allowed. If there are none, `error` says why.
  std::vector<SocketPeer> find(For use, const SocketAddress& address, int& error);
  bool allows_path(For use, const SocketAddress& address);

  const SocketPermissions permissions_;
  const OwnPorts& ports_;
  SocketAudit audit_;
};

// The port of a socket of the internet; 0 if it has none.
std::uint16_t port_of(int socket);

}  // namespace remotecl::server
