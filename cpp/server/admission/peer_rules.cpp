#include "server/admission/peer_rules.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace remotecl::server {
namespace {

// Lower ports belong to other services.
constexpr std::uint16_t kFirstPort = 1024;
constexpr unsigned kBits = 128, kBitsBeforeV4 = 96;

std::invalid_argument wrong(const std::string& text, const std::string& why) {
  return std::invalid_argument("--peers \"" + text + "\": " + why +
                               "; write any, none, or NETWORK[:PORT[-PORT]], as in 10.1.0.0/16:10990-10999, "
                               "[fd00::/8]:10990 or any:10990");
}

unsigned number_of(const std::string& text, std::string_view part, unsigned most, const std::string& what) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
  if (error != std::errc{} || end != part.data() + part.size() || number > most) {
    throw wrong(text, what + " is a number from 0 to " + std::to_string(most));
  }
  return number;
}

bool agree(const IpNumber& one, const IpNumber& other, unsigned bits) {
  for (unsigned at = 0; at < bits; at += 8) {
    const unsigned left = std::min(bits - at, 8u);
    const auto mask = static_cast<std::uint8_t>(0xff << (8 - left));
    if (((one[at / 8] ^ other[at / 8]) & mask) != 0) return false;
  }
  return true;
}

// Splits "NETWORK[:PORTS]" at the colon.
std::pair<std::string, std::string> split(const std::string& text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string::npos) throw wrong(text, "the bracket is not closed");
    const std::string rest = text.substr(end + 1);
    if (!rest.empty() && (rest[0] != ':' || rest.size() == 1)) throw wrong(text, "there is no port behind the bracket");
    return {text.substr(1, end - 1), rest.empty() ? "" : rest.substr(1)};
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || text.find(':', colon + 1) != std::string::npos) return {text, ""};
  if (colon + 1 == text.size()) throw wrong(text, "there is no port behind the colon");
  return {text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace

PeerRules::PeerRules(const std::vector<std::string>& rules) : texts_(rules) {
  for (const std::string& text : rules) {
    if (text != "none") rules_.push_back(parse(text));
  }
  if (rules.empty()) rules_.push_back(parse("any"));
}

PeerRules::Rule PeerRules::parse(const std::string& text) {
  const auto [network, ports] = split(text);
  Rule rule{{}, 0, kFirstPort, 65535};
  if (network != "any") {
    const std::size_t slash = network.find('/');
    const auto number = ip_number(network.substr(0, slash));
    if (!number) throw wrong(text, "\"" + network.substr(0, slash) + "\" is no IP address");
    const unsigned before = is_v4(*number) ? kBitsBeforeV4 : 0;
    rule.network = *number;
    rule.prefix = kBits;
    if (slash != std::string::npos) {
      rule.prefix = before + number_of(text, network.substr(slash + 1), kBits - before, "the length of a prefix");
    }
  }
  if (!ports.empty()) {
    const std::size_t dash = ports.find('-');
    rule.first_port = static_cast<std::uint16_t>(number_of(text, ports.substr(0, dash), 65535, "a port"));
    rule.last_port = rule.first_port;
    if (dash != std::string::npos) {
      rule.last_port = static_cast<std::uint16_t>(number_of(text, ports.substr(dash + 1), 65535, "a port"));
    }
  }
  return rule;
}

std::string PeerRules::objection(const Address& to, const Address& client) const {
  const auto number = ip_number(to.host);
  if (!number) return to.text() + " is no address of a server";
  if (is_own_or_link_local(*number) && !client.is_loopback()) {
    return to.text() + " is loopback or link-local, where servers connect for clients of their own machine only";
  }
  const bool is_allowed = std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    return agree(*number, rule.network, rule.prefix) && to.port >= rule.first_port && to.port <= rule.last_port;
  });
  if (is_allowed) return "";
  return to.text() + " is not where this server may connect to others (--peers); ask whoever runs it";
}

}  // namespace remotecl::server
