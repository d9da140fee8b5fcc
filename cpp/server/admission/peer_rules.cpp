#include "server/admission/peer_rules.h"

#include <algorithm>
#include <stdexcept>

namespace remotecl::server {
namespace {

// Lower ports belong to other services.
constexpr std::uint16_t kFirstPort = 1024;

std::invalid_argument wrong(const std::string& text, const std::string& why) {
  return std::invalid_argument("--peers \"" + text + "\": " + why +
                               "; write any, none, or NETWORK[:PORT[-PORT]], as in 10.1.0.0/16:10990-10999, "
                               "[fd00::/8]:10990 or any:10990");
}

AddressRule parse(const std::string& text) {
  AddressRule rule;
  rule.first_port = kFirstPort;
  try {
    const auto [network, ports] = AddressRule::split(text);
    if (network != "any") rule.set_network(network);
    if (!ports.empty()) rule.set_ports(ports);
  } catch (const std::invalid_argument& error) {
    throw wrong(text, error.what());
  }
  return rule;
}

}  // namespace

PeerRules::PeerRules(const std::vector<std::string>& rules) : texts_(rules) {
  for (const std::string& text : rules) {
    if (text != "none") rules_.push_back(parse(text));
  }
  if (rules.empty()) rules_.push_back(parse("any"));
}

std::string PeerRules::objection(const Address& to, const Address& client) const {
  const auto number = ip_number(to.host);
  if (!number) return to.text() + " is no address of a server";
  if (is_own_or_link_local(*number) && !client.is_loopback()) {
    return to.text() + " is loopback or link-local, where servers connect for clients of their own machine only";
  }
  const bool is_allowed = std::any_of(rules_.begin(), rules_.end(),
                                      [&](const AddressRule& rule) { return rule.has(*number) && rule.has(to.port); });
  if (is_allowed) return "";
  return to.text() + " is not where this server may connect to others (--peers); ask whoever runs it";
}

}  // namespace remotecl::server
