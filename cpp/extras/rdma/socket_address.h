#pragma once

#include <netinet/in.h>

#include <string>
#include <vector>

#include "runtime/transport/address.h"

namespace remotecl {

// An address in the form of the system's functions. A value.
struct SocketAddress {
  sockaddr_storage storage{};

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

// Resolves a host's name to all its addresses, in the order in which to try them. Throws ConnectionError.
std::vector<SocketAddress> socket_addresses(const Address& address);
// Host and port in numeric form.
Address address_of(const sockaddr* address);

}  // namespace remotecl
