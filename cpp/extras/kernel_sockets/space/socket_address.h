#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace remotecl::server {

// The address that a kernel names: tcp:HOST:PORT, tcp:[IPV6]:PORT, udp:HOST:PORT, unix:/PATH or rcl:NAME. A value.
struct SocketAddress {
  enum class Kind { kTcp, kUdp, kUnix, kKernel };
  static constexpr std::size_t kTextMax = 112;  // what a request has room for

  Kind kind = Kind::kTcp;
  std::string host;  // a name or a number without brackets; of kUnix the path, of kKernel the name
  std::uint16_t port = 0;

  std::string text() const;
  bool operator==(const SocketAddress&) const = default;
};

// Empty if the text is no address: unknown kind, no port, a character that is not printable ASCII, a path that does not
// begin with '/' or that sockaddr_un cannot hold.
std::optional<SocketAddress> parse_socket_address(std::string_view text);

// Where a datagram comes from or goes to. IPv4 addresses are mapped into IPv6 (::ffff:a.b.c.d). A value.
struct SocketPeer {
  std::array<std::uint8_t, 16> ip{};
  std::uint16_t port = 0;
  bool operator==(const SocketPeer&) const = default;
  bool operator<(const SocketPeer& other) const { return std::tie(ip, port) < std::tie(other.ip, other.port); }
};

}  // namespace remotecl::server
