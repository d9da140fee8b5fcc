#include "server/daemon/extras.h"

#include <utility>

#ifdef REMOTECL_HAS_KERNEL_SOCKETS
#include "extras/kernel_sockets/server/daemon_socket_broker.h"
#include "extras/kernel_sockets/server/kernel_socket_provider.h"
#include "extras/kernel_sockets/server/local_socket_broker.h"
#endif

namespace remotecl::server::extras {

#ifdef REMOTECL_HAS_KERNEL_SOCKETS

bool have_kernel_sockets() { return true; }

std::unique_ptr<ArgumentProvider> argument_provider(bool has_sockets, const OwnPorts& ports) {
  MakeSocketBroker brokers;
  if (has_sockets) {
    brokers = [&ports](const Grant& grant, std::uint64_t session) {
      return make_ref<LocalSocketBroker>(SocketPermissions(grant), ports, session, grant.user().name());
    };
  }
  return std::make_unique<KernelSocketProvider>(std::move(brokers));
}

std::unique_ptr<ArgumentProvider> argument_provider(bool has_sockets, OpenForKernel open) {
  MakeSocketBroker brokers;
  if (has_sockets) {
    brokers = [open = std::move(open)](const Grant&, std::uint64_t) { return make_ref<DaemonSocketBroker>(open); };
  }
  return std::make_unique<KernelSocketProvider>(std::move(brokers));
}

#else

bool have_kernel_sockets() { return false; }
std::unique_ptr<ArgumentProvider> argument_provider(bool, const OwnPorts&) {
  return std::make_unique<ArgumentProvider>();
}
std::unique_ptr<ArgumentProvider> argument_provider(bool, OpenForKernel) {
  return std::make_unique<ArgumentProvider>();
}

#endif

}  // namespace remotecl::server::extras
