#include "runtime/transport/tcp/peer_user.h"

#include <sys/socket.h>

namespace remotecl::tcp {

std::optional<uid_t> peer_user(const Connection& connection) {
  int domain = 0;
  socklen_t size = sizeof domain;
  if (::getsockopt(connection.wait_handle(), SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX) {
    return std::nullopt;
  }
  ucred owner{};
  size = sizeof owner;
  if (::getsockopt(connection.wait_handle(), SOL_SOCKET, SO_PEERCRED, &owner, &size) != 0) return std::nullopt;
  return owner.uid;
}

}  // namespace remotecl::tcp
