#include "server/util/ip_number.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace remotecl::server {
namespace {

constexpr IpNumber kV4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::size_t kV4At = 12;

}  // namespace

std::optional<IpNumber> ip_number(const std::string& host) {
  const std::string number = host.substr(0, host.find('%'));  // without the zone of a link-local address
  IpNumber found = kV4;
  if (::inet_pton(AF_INET, number.c_str(), found.data() + kV4At) == 1) return found;
  if (::inet_pton(AF_INET6, number.c_str(), found.data()) == 1) return found;
  return std::nullopt;
}

bool is_v4(const IpNumber& number) { return std::equal(number.begin(), number.begin() + kV4At, kV4.begin()); }

bool is_own_or_link_local(const IpNumber& number) {
  if (is_v4(number)) {
    const std::uint8_t first = number[kV4At], second = number[kV4At + 1];
    return first == 0 || first == 127 || (first == 169 && second == 254);
  }
  in6_addr v6;
  std::memcpy(&v6, number.data(), sizeof v6);
  return IN6_IS_ADDR_UNSPECIFIED(&v6) || IN6_IS_ADDR_LOOPBACK(&v6) || IN6_IS_ADDR_LINKLOCAL(&v6);
}

}  // namespace remotecl::server
