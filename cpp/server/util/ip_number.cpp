#include "server/util/ip_number.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace remotecl::server {
namespace {

constexpr IpNumber kV4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::size_t kV4At = 12;

in6_addr v6_of(const IpNumber& number) {
  in6_addr v6;
  std::memcpy(&v6, number.data(), sizeof v6);
  return v6;
}

}  // namespace

std::optional<IpNumber> ip_number(const std::string& host) {
  const std::string number = host.substr(0, host.find('%'));  // without the zone of a link-local address
  IpNumber found = kV4;
  if (::inet_pton(AF_INET, number.c_str(), found.data() + kV4At) == 1) return found;
  if (::inet_pton(AF_INET6, number.c_str(), found.data()) == 1) return found;
  return std::nullopt;
}

bool is_v4(const IpNumber& number) { return std::equal(number.begin(), number.begin() + kV4At, kV4.begin()); }

bool is_loopback_or_unspecified(const IpNumber& number) {
  if (is_v4(number)) return number[kV4At] == 0 || number[kV4At] == 127;
  const in6_addr v6 = v6_of(number);
  return IN6_IS_ADDR_UNSPECIFIED(&v6) || IN6_IS_ADDR_LOOPBACK(&v6);
}

bool is_own_or_link_local(const IpNumber& number) {
  if (is_loopback_or_unspecified(number)) return true;
  if (is_v4(number)) return number[kV4At] == 169 && number[kV4At + 1] == 254;
  const in6_addr v6 = v6_of(number);
  return IN6_IS_ADDR_LINKLOCAL(&v6);
}

std::vector<IpNumber> own_addresses() {
  std::vector<IpNumber> own;
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return own;
  for (const ifaddrs* at = found; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr) continue;
    IpNumber number{};
    if (at->ifa_addr->sa_family == AF_INET6) {
      std::memcpy(number.data(), &reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr, number.size());
    } else if (at->ifa_addr->sa_family == AF_INET) {
      number[10] = number[11] = 0xff;
      std::memcpy(number.data() + 12, &reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr, 4);
    } else {
      continue;
    }
    own.push_back(number);
  }
  ::freeifaddrs(found);
  return own;
}

}  // namespace remotecl::server
