#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace remotecl {

// Where a server listens. A value.
struct Address {
  std::string host;
  std::uint16_t port = 0;

  std::string text() const;  // "host:port", "[v6]:port"
  // Returns true if only this machine can reach it, judging by its name or number, without a look-up.
  bool is_loopback() const;
  bool operator==(const Address&) const = default;
};

// "host", "host:port", "[v6]:port" or a bare IPv6 address. Throws std::invalid_argument that quotes the text.
Address parse_address(std::string_view text, std::uint16_t default_port);

}  // namespace remotecl
