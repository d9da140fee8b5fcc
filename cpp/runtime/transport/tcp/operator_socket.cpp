#include "runtime/transport/tcp/operator_socket.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "runtime/transport/tcp/peer_user.h"
#include "runtime/transport/tcp/tcp.h"

namespace remotecl::operator_socket {
namespace {

bool is_trusted(const Connection& connection) {
  const auto owner = tcp::peer_user(connection);
  return owner && (*owner == 0 || *owner == ::geteuid() || ::geteuid() == 0);
}

}  // namespace

Name name_of(std::uint16_t port) {
  Name name{};
  name.address.sun_family = AF_UNIX;
  const std::string text = "remotecl:" + std::to_string(port);
  std::memcpy(name.address.sun_path + 1, text.data(), text.size());  // behind a 0: abstract
  name.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

std::unique_ptr<StreamConnection> connect(const Address& address) {
  if (address.host != "localhost" && address.host != "127.0.0.1" && address.host != "::1") return nullptr;
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return nullptr;
  const Name name = name_of(address.port);
  const bool is_connected = ::connect(descriptor, reinterpret_cast<const sockaddr*>(&name.address), name.size) == 0;
  ::fcntl(descriptor, F_SETFL, 0);
  auto connection = tcp::adopt(descriptor);
  return is_connected && is_trusted(*connection) ? std::move(connection) : nullptr;
}

}  // namespace remotecl::operator_socket
