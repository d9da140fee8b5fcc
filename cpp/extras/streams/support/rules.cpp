#include "extras/streams/support/rules.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "extras/streams/support/plugin_error.h"

namespace remotecl::plugins {
namespace {

struct Ports {
  unsigned first = 1, last = 65535;
  bool has(unsigned port) const { return port >= first && port <= last; }
};

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Ports> parse_ports(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return Ports{*first, *last};
}

struct Raw {
  std::array<unsigned char, 16> bytes{};
  unsigned bits = 0;  // 32 or 128
};

std::optional<Raw> parse_address(const std::string& text) {
  Raw raw;
  if (::inet_pton(AF_INET, text.c_str(), raw.bytes.data()) == 1) return raw.bits = 32, raw;
  if (::inet_pton(AF_INET6, text.c_str(), raw.bytes.data()) == 1) return raw.bits = 128, raw;
  return std::nullopt;
}

bool begins_alike(const Raw& one, const Raw& other, unsigned bits) {
  for (unsigned i = 0; i < bits; ++i) {
    const unsigned shift = 7 - i % 8;
    if (((one.bytes[i / 8] ^ other.bytes[i / 8]) >> shift & 1) != 0) return false;
  }
  return true;
}

// "10.0.0.0/8:5000-5010", "[fd00::]/16:5000", "127.0.0.1".
bool names(std::string rule, const Raw& address, unsigned port) {
  Ports ports;
  const std::size_t bracket = rule.find(']');
  const std::size_t colon = rule.find(':', bracket == std::string::npos ? 0 : bracket);
  if (colon != std::string::npos) {
    const auto parsed = parse_ports(std::string_view(rule).substr(colon + 1));
    if (!parsed) return false;
    ports = *parsed;
    rule.resize(colon);
  }
  std::erase_if(rule, [](char each) { return each == '[' || each == ']'; });
  const std::size_t slash = rule.find('/');
  const auto network = parse_address(rule.substr(0, slash));
  if (!network || network->bits != address.bits || !ports.has(port)) return false;
  const auto bits = slash == std::string::npos ? network->bits : number(std::string_view(rule).substr(slash + 1));
  return bits && *bits <= address.bits && begins_alike(*network, address, *bits);
}

// "%2e" for "." and the like.
std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char code = 0;
    const bool is_code = text[i] == '%' && i + 2 < text.size() &&
                         std::from_chars(&text[i + 1], &text[i + 1] + 2, code, 16).ptr == &text[i + 1] + 2;
    plain += is_code ? static_cast<char>(code) : text[i];
    if (is_code) i += 2;
  }
  return plain;
}

// Whether a part of an address's path is "." or "..", however it is written: the server that gets it may leave the
// folder that the address seems to be in.
bool has_dots(std::string_view address) {
  std::string path = decoded(address.substr(0, address.find_first_of("?#")));
  std::replace(path.begin(), path.end(), '\\', '/');
  path += '/';
  return path.find("/./") != std::string::npos || path.find("/../") != std::string::npos;
}

}  // namespace

std::vector<std::string> Rules::of(std::string_view kind) const {
  std::vector<std::string> found;
  for (const std::string& rule : rules_) {
    if (rule.size() > kind.size() && rule.starts_with(kind) && rule[kind.size()] == ':') {
      found.push_back(rule.substr(kind.size() + 1));
    }
  }
  return found;
}

void Rules::require(std::string_view kind, const std::string& what) const {
  const auto all = of(kind);
  if (std::find(all.begin(), all.end(), what) != all.end()) return;
  throw PluginError(kNotAllowed, "this server does not allow " + what + ": its operator would say --plugin-allow " +
                                     std::string(kind) + ":" + what);
}

void Rules::require_address(const std::string& address) const {
  const auto prefixes = of("url");
  const bool has_prefix = std::any_of(prefixes.begin(), prefixes.end(), [&address](const std::string& prefix) {
    return prefix.ends_with('/') && address.starts_with(prefix);
  });
  if (!has_prefix) return require("url", address);
  if (!has_dots(address)) return;
  throw PluginError(kNotAllowed,
                    "the address " + address +
                        " has \".\" or \"..\" in its path, which may lead out of what the rule url: names: "
                        "write the path without them");
}

void Rules::require_connection(const sockaddr& address) const {
  Raw raw;
  unsigned port = 0;
  char text[INET6_ADDRSTRLEN] = "?";
  if (address.sa_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    std::memcpy(raw.bytes.data(), &four.sin_addr, 4);
    raw.bits = 32;
    port = ntohs(four.sin_port);
  } else if (address.sa_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
    std::memcpy(raw.bytes.data(), &six.sin6_addr, 16);
    raw.bits = 128;
    port = ntohs(six.sin6_port);
  }
  for (const std::string& rule : of("connect")) {
    if (names(rule, raw, port)) return;
  }
  ::inet_ntop(address.sa_family, raw.bytes.data(), text, sizeof text);
  throw PluginError(kNotAllowed, "this server does not allow connections to " + std::string(text) + ", port " +
                                     std::to_string(port) + ": its operator would say --plugin-allow connect:" + text +
                                     ":" + std::to_string(port));
}

void Rules::require_listening(std::uint16_t port) const {
  for (const std::string& rule : of("listen")) {
    const auto ports = parse_ports(rule);
    if (ports && ports->has(port)) return;
  }
  throw PluginError(kNotAllowed, "this server does not allow listening on port " + std::to_string(port) +
                                     ": its operator would say --plugin-allow listen:" + std::to_string(port));
}

}  // namespace remotecl::plugins
