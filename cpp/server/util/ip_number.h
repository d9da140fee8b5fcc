#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace remotecl::server {

// An IP address. IPv4 addresses are mapped into IPv6 (::ffff:a.b.c.d).
using IpNumber = std::array<std::uint8_t, 16>;

// Empty if the host is a name.
std::optional<IpNumber> ip_number(const std::string& host);
bool is_v4(const IpNumber& number);
// Whether a connection to the address stays on this machine.
bool is_loopback_or_unspecified(const IpNumber& number);
// The addresses of this machine's interfaces at present.
std::vector<IpNumber> own_addresses();
// Whether the address is unspecified, loopback or link-local: on another machine it means a different host.
bool is_own_or_link_local(const IpNumber& number);

}  // namespace remotecl::server
