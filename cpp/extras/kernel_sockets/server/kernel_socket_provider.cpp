#include "extras/kernel_sockets/server/kernel_socket_provider.h"

#include <cerrno>

#include "extras/kernel_sockets/space/kernel_socket_space.h"
#include "extras/kernel_sockets/space/socket_address.h"

namespace remotecl::server {

ArgumentProvider::Header KernelSocketProvider::header() const {
  return {"remotecl/net.cl", KernelSocketSpace::kernel_library()};
}

bool KernelSocketProvider::serves(Device& device) const { return brokers_ && KernelSocketSpace::works_on(device); }

Ref<SessionArguments> KernelSocketProvider::begin(const Grant& grant, std::uint64_t session,
                                                  const Ref<SessionCounters>& counters) const {
  if (!brokers_) return ArgumentProvider::begin(grant, session, counters);
  return make_ref<SessionKernelSockets>(brokers_, grant, session, counters);
}

// The daemon applies its own rules and log, whatever the process says. The process could send from a datagram socket to
// any address, so it gets none.
OpenForKernel KernelSocketProvider::opener(const Grant& grant, std::uint64_t session) const {
  if (!brokers_) return nullptr;
  return [broker = brokers_(grant, session)](const std::string& text, int backlog) {
    using Kind = SocketAddress::Kind;
    const auto address = parse_socket_address(text);
    if (!address || (address->kind != Kind::kTcp && address->kind != Kind::kUnix)) return -EACCES;
    std::uint16_t port = 0;  // which the process reads from the socket
    return backlog < 0 ? broker->connect(*address) : broker->bind(*address, backlog, port);
  };
}

}  // namespace remotecl::server
