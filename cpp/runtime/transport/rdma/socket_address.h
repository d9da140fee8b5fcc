#pragma once

#include <netinet/in.h>

#include <string>
#include <vector>

#include "runtime/transport/address.h"

namespace remotecl {

// An address as the system's functions take it. A value.
struct SocketAddress {
  sockaddr_storage storage{};

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

// All that a host's name stands for, in the order in which they should be tried. Throws ConnectionError.
std::vector<SocketAddress> socket_addresses(const Address& address);
// Host and port as numbers.
Address address_of(const sockaddr* address);

}  // namespace remotecl
