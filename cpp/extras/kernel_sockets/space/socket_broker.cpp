#include "extras/kernel_sockets/space/socket_broker.h"

#include <sys/socket.h>

#include <cerrno>

namespace remotecl::server {

int SocketBroker::accept(int listener) {
  const int socket = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  return socket < 0 ? -errno : socket;
}

}  // namespace remotecl::server
