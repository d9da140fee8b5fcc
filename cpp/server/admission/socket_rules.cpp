#include "server/admission/socket_rules.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace remotecl::server {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::uint16_t kFirstUnprivilegedPort = 1024;
constexpr std::size_t kNameMax = 253;

std::invalid_argument bad_rule(const std::string& text, const std::string& why) {
  return std::invalid_argument("\"" + text + "\": " + why +
                               "; write HOST:PORTS, as in 10.0.0.0/8:1024-65535, [fd00::/8]:443, db.example:11211 or "
                               "127.0.0.1:*, or unix:/run/x.sock");
}

bool is_name(std::string_view text) {
  const auto is_of_a_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
  };
  const bool has_letter =
      std::any_of(text.begin(), text.end(), [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; });
  return has_letter && text.size() <= kNameMax && text[0] != '-' && std::all_of(text.begin(), text.end(), is_of_a_name);
}

// Names are the same whatever their case, and with or without the root's dot.
std::string plain_name(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  std::string plain(name);
  for (char& c : plain) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

bool is_plain_path(std::string_view path) {
  if (!path.starts_with('/') || path.ends_with('/') || path.find('\0') != std::string_view::npos) return false;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at + 1), path.size());
    const std::string_view part = path.substr(at + 1, end - at - 1);
    if (part.empty() || part == "." || part == "..") return false;
    at = end;
  }
  return true;
}

bool is_wildcard(const AddressRule& rule) {
  const IpNumber any_v6{};
  return rule.prefix == AddressRule::kBits && (rule.network == ip_number("0.0.0.0") || rule.network == any_v6);
}

const std::vector<AddressRule>& special_networks() {
  static const std::vector<AddressRule> networks = [] {
    std::vector<AddressRule> all;
    for (const char* text :
         {"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3", "::", "::1", "fe80::/10", "ff00::/8"}) {
      all.emplace_back().set_network(text);
    }
    return all;
  }();
  return networks;
}

// Whether the rule is for special addresses alone, or for one address.
bool names_closed(const AddressRule& rule) {
  const auto& networks = special_networks();
  return rule.prefix == AddressRule::kBits ||
         std::any_of(networks.begin(), networks.end(), [&rule](const AddressRule& network) {
           return rule.prefix >= network.prefix && network.has(rule.network);
         });
}

}  // namespace

bool SocketRules::is_special(const IpNumber& address) {
  const auto& networks = special_networks();
  return std::any_of(networks.begin(), networks.end(),
                     [&address](const AddressRule& network) { return network.has(address); });
}

SocketRules::SocketRules(For use, const std::vector<std::string>& rules) : use_(use), texts_(rules) {
  for (const std::string& text : rules) rules_.push_back(parse(text));
}

SocketRules::Rule SocketRules::parse(const std::string& text) const {
  Rule rule;
  if (text.starts_with(kUnix)) {
    rule.path = text.substr(kUnix.size());
    if (!is_plain_path(rule.path))
      throw bad_rule(text, "the path must begin with / and have no part that is empty or ..");
    return rule;
  }
  try {
    const auto [host, ports] = AddressRule::split(text);
    if (is_name(host)) {
      if (use_ == For::kBind) throw std::invalid_argument("sockets are bound to addresses, not to names");
      rule.name = plain_name(host);
    } else {
      rule.where.set_network(host);
    }
    if (ports.empty()) throw std::invalid_argument("there is no port");
    rule.is_any_port = ports == "*";
    if (!rule.is_any_port) rule.where.set_ports(ports);
  } catch (const std::invalid_argument& error) {
    throw bad_rule(text, error.what());
  }
  if (rule.where.first_port > rule.where.last_port) throw bad_rule(text, "the ports are in the wrong order");
  return rule;
}

bool SocketRules::has_port(const Rule& rule, std::uint16_t port) const {
  if (!rule.is_any_port) return rule.where.has(port);
  return use_ == For::kConnect ? port != 0 : port == 0 || port >= kFirstUnprivilegedPort;
}

bool SocketRules::allows(const IpNumber& address, std::uint16_t port, std::string_view name,
                         const std::vector<IpNumber>& own) const {
  const bool is_own = use_ == For::kConnect && std::find(own.begin(), own.end(), address) != own.end();
  const bool is_closed = is_own || is_special(address);
  const std::string host = plain_name(name);
  return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    if (!rule.path.empty() || !has_port(rule, port)) return false;
    if (!rule.name.empty()) return rule.name == host && (!is_closed || host == "localhost");
    // Binding the wildcard address binds all of its family, so a rule for it allows each of them.
    if (use_ == For::kBind && is_wildcard(rule.where)) return is_v4(rule.where.network) == is_v4(address);
    return rule.where.has(address) && (!is_closed || names_closed(rule.where));
  });
}

bool SocketRules::allows_path(std::string_view path) const {
  if (!is_plain_path(path)) return false;
  return std::any_of(rules_.begin(), rules_.end(), [path](const Rule& rule) { return rule.path == path; });
}

}  // namespace remotecl::server
