#include "extras/rdma/socket_address.h"

#include <arpa/inet.h>
#include <netdb.h>

#include <array>
#include <cstring>
#include <memory>

#include "runtime/transport/connection.h"

namespace remotecl {

std::vector<SocketAddress> socket_addresses(const Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (failure != 0) throw ConnectionError(address.host + " cannot be resolved: " + ::gai_strerror(failure));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_addrlen > sizeof(sockaddr_storage)) continue;
    std::memcpy(&addresses.emplace_back().storage, entry->ai_addr, entry->ai_addrlen);
  }
  return addresses;
}

Address address_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address->sa_family == AF_INET6) {
    const auto& v6 = *reinterpret_cast<const sockaddr_in6*>(address);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    return {text.data(), ntohs(v6.sin6_port)};
  }
  const auto& v4 = *reinterpret_cast<const sockaddr_in*>(address);
  ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  return {text.data(), ntohs(v4.sin_port)};
}

}  // namespace remotecl
