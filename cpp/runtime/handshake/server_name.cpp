#include "runtime/handshake/server_name.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "runtime/protocol/frames.h"

namespace remotecl {
namespace {

// Cuts off and returns the text before the next `separator`, or all of it.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  return part;
}

// Replaces %XX by the character; returns false if the text is malformed.
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

std::string escape(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (std::string_view(",%&?# ").find(letter) == std::string_view::npos) {
      result += letter;
    } else {
      constexpr char kDigits[] = "0123456789ABCDEF";
      result += {'%', kDigits[letter >> 4 & 15], kDigits[letter & 15]};
    }
  }
  return result;
}

// Returns what is wrong, or an empty text.
std::string set_option(ServerName& name, std::string_view key, std::string_view value) {
  const std::string quoted = "the option \"" + std::string(key) + "\" ";
  std::string text;
  if (value.empty()) return quoted + "is empty";
  if (!unescape(value, text)) return "% must be followed by two hexadecimal digits";
  if (key == "pin") {
    if (name.trust.pin) return quoted + "is there twice";
    name.trust.pin = parse_pin(text);
    return name.trust.pin ? "" : quoted + "must be sha256: and 64 hexadecimal digits";
  }
  if (key == "exclusive") {
    name.is_exclusive = text == "yes";
    return name.is_exclusive ? "" : quoted + "must be yes";
  }
  if (key == "streams") {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), name.streams);
    const bool is_number = error == std::errc{} && end == text.data() + text.size();
    const bool is_possible = is_number && name.streams >= 1 && name.streams <= kStripesMax;
    return is_possible ? "" : quoted + "must be a number from 1 to " + std::to_string(kStripesMax);
  }
  const std::pair<std::string_view, std::string*> files[] = {{"token", &name.token_file},
                                                             {"ca", &name.trust.ca_file},
                                                             {"certificate", &name.trust.certificate_file},
                                                             {"key", &name.trust.key_file}};
  const auto* const file =
      std::find_if(std::begin(files), std::end(files), [key](auto& one) { return one.first == key; });
  if (file == std::end(files)) return quoted + "is unknown";
  if (!file->second->empty()) return quoted + "is there twice";
  *file->second = std::move(text);
  return {};
}

std::string what_is_missing(const TlsTrust& trust) {
  if (!trust.key_file.empty() && trust.certificate_file.empty()) return "a key is there without its certificate";
  if (trust.certificate_file.empty() || trust.is_wanted()) return {};
  return "it has a certificate for the server to see, and neither pin= nor ca= for the server's own";
}

}  // namespace

std::string ServerName::text() const {
  std::string text = address.text();
  char separator = '?';
  const auto add = [&](const char* key, const std::string& value) {
    if (value.empty()) return;
    text += std::exchange(separator, '&') + std::string(key) + '=' + escape(value);
  };
  add("token", token_file);
  add("pin", trust.pin ? pin_text(*trust.pin) : "");
  add("ca", trust.ca_file);
  add("certificate", trust.certificate_file);
  add("key", trust.key_file);
  add("exclusive", is_exclusive ? "yes" : "");
  add("streams", streams != 0 ? std::to_string(streams) : "");
  return text;
}

ServerName parse_server_name(std::string_view text, std::uint16_t default_port) {
  std::string_view options = text;
  ServerName name{parse_address(cut(options, '?'), default_port)};
  std::string wrong;
  while (wrong.empty() && !options.empty()) {
    std::string_view value = cut(options, '&');
    const std::string_view key = cut(value, '=');
    wrong = set_option(name, key, value);
  }
  if (wrong.empty()) wrong = what_is_missing(name.trust);
  if (text.starts_with('@')) {
    wrong = "groups are known to Python's remotecl and its command only; start the program by `remotecl run`";
  }
  if (!wrong.empty()) {
    throw std::invalid_argument(
        "\"" + std::string(text) + "\" is not a server: " + wrong +
        "; write host, host:port or [ipv6]:port, with ?token=FILE and &pin=sha256:HEX behind it "
        "where needed");
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
