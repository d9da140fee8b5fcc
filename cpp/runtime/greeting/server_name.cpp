#include "runtime/greeting/server_name.h"

#include <charconv>
#include <stdexcept>

namespace remotecl {
namespace {

// Cuts off and returns what comes before the next `separator`, or everything.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  return part;
}

// Replaces %XX by what it stands for; false when it is no such text.
bool unescape(std::string_view text, std::string& result) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      result.push_back(text[at]);
      continue;
    }
    unsigned value = 0;
    const char* const begin = text.data() + at + 1;
    if (text.size() - at < 3 || std::from_chars(begin, begin + 2, value, 16).ptr != begin + 2) return false;
    result.push_back(static_cast<char>(value));
    at += 2;
  }
  return true;
}

}  // namespace

ServerName parse_server_name(std::string_view text, std::uint16_t default_port) {
  std::string_view options = text;
  ServerName name{parse_address(cut(options, '?'), default_port), {}};
  const auto invalid = [text](const std::string& why) {
    return std::invalid_argument("\"" + std::string(text) + "\" is not a server: " + why +
                                 "; write host, host:port or [ipv6]:port, with ?token=FILE behind it where needed");
  };
  while (!options.empty()) {
    std::string_view value = cut(options, '&');
    const std::string_view key = cut(value, '=');
    if (key != "token") throw invalid("the option \"" + std::string(key) + "\" is unknown");
    if (value.empty()) throw invalid("the option \"" + std::string(key) + "\" is empty");
    if (!name.token_file.empty()) throw invalid("the option \"" + std::string(key) + "\" is there twice");
    if (!unescape(value, name.token_file)) throw invalid("% must be followed by two hexadecimal digits");
  }
  return name;
}

std::vector<ServerName> parse_server_names(std::string_view text, std::uint16_t default_port) {
  std::vector<ServerName> names;
  while (!text.empty()) {
    std::string_view entry = cut(text, ',');
    while (!entry.empty() && entry.front() == ' ') entry.remove_prefix(1);
    while (!entry.empty() && entry.back() == ' ') entry.remove_suffix(1);
    if (!entry.empty()) names.push_back(parse_server_name(entry, default_port));
  }
  return names;
}

}  // namespace remotecl
