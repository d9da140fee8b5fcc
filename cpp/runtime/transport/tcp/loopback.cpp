#include "runtime/transport/tcp/loopback.h"

#include <sys/socket.h>

#include <system_error>

#include "runtime/transport/tcp/stream_connection.h"

namespace remotecl::loopback {

std::pair<std::unique_ptr<Connection>, std::unique_ptr<Connection>> make_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  return {std::make_unique<StreamConnection>(ends[0]), std::make_unique<StreamConnection>(ends[1])};
}

}  // namespace remotecl::loopback
