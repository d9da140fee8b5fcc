#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <memory>

#include "runtime/transport/address.h"
#include "runtime/transport/tcp/stream_connection.h"

// A Unix socket beside the daemon's TCP port, where the kernel says whose process has connected. Its name is abstract,
// so there is no file, and belongs to the network namespace, as loopback does.
namespace remotecl::operator_socket {

struct Name {
  sockaddr_un address;
  socklen_t size;
};
Name name_of(std::uint16_t port);

// Connects to the daemon that has this TCP port on this machine. Null if the address is not loopback, if there is no
// such daemon, and if neither root nor this user has opened the socket: anybody may take a name that is free. Root
// takes everybody's. Does not wait.
std::unique_ptr<StreamConnection> connect(const Address& address);

}  // namespace remotecl::operator_socket
