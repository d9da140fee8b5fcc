#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace remotecl::server {

// An IP address; one of IPv4 is as IPv6 writes it (::ffff:a.b.c.d).
using IpNumber = std::array<std::uint8_t, 16>;

// Empty where the host is a name.
std::optional<IpNumber> ip_number(const std::string& host);
bool is_v4(const IpNumber& number);
// Of this machine alone, or of the networks that it is on: what others reach under these is something else.
bool is_own_or_link_local(const IpNumber& number);

}  // namespace remotecl::server
