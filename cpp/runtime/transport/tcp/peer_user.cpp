#include "runtime/transport/tcp/peer_user.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace remotecl::tcp {
namespace {

struct Endpoint {
  std::array<std::uint32_t, 4> words{};  // in memory order; an IPv4 address is in the last one
  bool is_v4 = false;
  std::uint16_t port = 0;
};

std::optional<Endpoint> endpoint(const sockaddr_storage& address) {
  Endpoint result;
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    result.words[3] = v4.sin_addr.s_addr;
    result.is_v4 = true;
    result.port = ntohs(v4.sin_port);
    return result;
  }
  if (address.ss_family != AF_INET6) return std::nullopt;
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  std::memcpy(result.words.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
  result.is_v4 = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
  result.port = ntohs(v6.sin6_port);
  return result;
}

// The endpoint as /proc/net/tcp shows it or, with `as_v6`, /proc/net/tcp6.
std::string written(const Endpoint& endpoint, bool as_v6) {
  char text[48];
  if (!as_v6) {
    std::snprintf(text, sizeof text, "%08X:%04X", endpoint.words[3], endpoint.port);
  } else {
    const std::uint32_t mapped = endpoint.is_v4 ? htonl(0xFFFF) : endpoint.words[2];
    std::snprintf(text, sizeof text, "%08X%08X%08X%08X:%04X", endpoint.words[0], endpoint.words[1], mapped,
                  endpoint.words[3], endpoint.port);
  }
  return text;
}

// The owner of the established connection from `local` to `remote`.
std::optional<uid_t> owner(const char* table, const std::string& local, const std::string& remote) {
  constexpr const char* kEstablished = "01";  // closed ones have no owner, which the table shows as root
  std::ifstream lines(table);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string number, from, to, state, queues, timer, retransmissions;
    uid_t user = 0;
    if (!(words >> number >> from >> to >> state >> queues >> timer >> retransmissions >> user)) continue;
    if (from == local && to == remote && state == kEstablished) return user;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uid_t> peer_user(const Connection& connection) {
  sockaddr_storage ours{}, theirs{};
  socklen_t our_size = sizeof ours, their_size = sizeof theirs;
  if (::getsockname(connection.wait_handle(), reinterpret_cast<sockaddr*>(&ours), &our_size) != 0 ||
      ::getpeername(connection.wait_handle(), reinterpret_cast<sockaddr*>(&theirs), &their_size) != 0) {
    return std::nullopt;
  }
  const auto here = endpoint(ours), there = endpoint(theirs);
  if (!here || !there) return std::nullopt;
  if (there->is_v4) {
    if (const auto user = owner("/proc/self/net/tcp", written(*there, false), written(*here, false))) return user;
  }
  return owner("/proc/self/net/tcp6", written(*there, true), written(*here, true));
}

}  // namespace remotecl::tcp
