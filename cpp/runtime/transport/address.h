#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace remotecl {

// Where a server listens. A value.
struct Address {
  std::string host;
  std::uint16_t port = 0;

  std::string text() const;  // "host:port", "[v6]:port"
  // By its name or number, without asking anybody.
  bool is_loopback() const { return host == "localhost" || host == "::1" || host.starts_with("127."); }
  bool operator==(const Address&) const = default;
};

// "host", "host:port", "[v6]:port" or a bare IPv6 address. Throws std::invalid_argument that quotes the text.
Address parse_address(std::string_view text, std::uint16_t default_port);
// Comma separated; empty entries are skipped.
std::vector<Address> parse_addresses(std::string_view text, std::uint16_t default_port);

}  // namespace remotecl
