#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/util/ip_number.h"

namespace remotecl::server {

// A network and a range of ports, as operators write them. A value.
struct AddressRule {
  static constexpr unsigned kBits = 128;

  IpNumber network{};
  unsigned prefix = 0;  // how many bits of it count
  std::uint16_t first_port = 0, last_port = 65535;

  bool has(const IpNumber& address) const;
  bool has(std::uint16_t port) const { return port >= first_port && port <= last_port; }

  // The texts before and behind the colon of "HOST:PORTS" or "[HOST]:PORTS"; without ports the second text is empty.
  // Throws std::invalid_argument.
  struct Halves {
    std::string host, ports;
  };
  static Halves split(const std::string& text);
  // Throw std::invalid_argument. set_network(): ADDRESS[/BITS]; set_ports(): PORT[-PORT].
  void set_network(const std::string& text);
  void set_ports(const std::string& text);
};

}  // namespace remotecl::server
