#include "server/admission/address_rule.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace remotecl::server {
namespace {

constexpr unsigned kBitsBeforeV4 = 96;

unsigned number_of(std::string_view part, unsigned most, const std::string& what) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
  if (error != std::errc{} || end != part.data() + part.size() || number > most) {
    throw std::invalid_argument(what + " is a number from 0 to " + std::to_string(most));
  }
  return number;
}

}  // namespace

bool AddressRule::has(const IpNumber& address) const {
  for (unsigned at = 0; at < prefix; at += 8) {
    const unsigned left = std::min(prefix - at, 8u);
    const auto mask = static_cast<std::uint8_t>(0xff << (8 - left));
    if (((address[at / 8] ^ network[at / 8]) & mask) != 0) return false;
  }
  return true;
}

AddressRule::Halves AddressRule::split(const std::string& text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string::npos) throw std::invalid_argument("the bracket is not closed");
    const std::string rest = text.substr(end + 1);
    if (!rest.empty() && (rest[0] != ':' || rest.size() == 1)) {
      throw std::invalid_argument("there is no port behind the bracket");
    }
    return {text.substr(1, end - 1), rest.empty() ? "" : rest.substr(1)};
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || text.find(':', colon + 1) != std::string::npos) return {text, ""};
  if (colon + 1 == text.size()) throw std::invalid_argument("there is no port behind the colon");
  return {text.substr(0, colon), text.substr(colon + 1)};
}

void AddressRule::set_network(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto number = ip_number(text.substr(0, slash));
  if (!number) throw std::invalid_argument("\"" + text.substr(0, slash) + "\" is no IP address");
  const unsigned before = is_v4(*number) ? kBitsBeforeV4 : 0;
  network = *number;
  prefix = kBits;
  if (slash != std::string::npos) {
    prefix = before + number_of(std::string_view(text).substr(slash + 1), kBits - before, "the length of a prefix");
  }
}

void AddressRule::set_ports(const std::string& text) {
  const std::size_t dash = text.find('-');
  const std::string_view ports = text;
  first_port = static_cast<std::uint16_t>(number_of(ports.substr(0, dash), 65535, "a port"));
  last_port = first_port;
  if (dash != std::string::npos) {
    last_port = static_cast<std::uint16_t>(number_of(ports.substr(dash + 1), 65535, "a port"));
  }
}

}  // namespace remotecl::server
