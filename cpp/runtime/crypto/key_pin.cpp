#include "runtime/crypto/key_pin.h"

#include <charconv>

namespace remotecl {
namespace {

constexpr std::string_view kPrefix = "sha256:";

}  // namespace

std::string pin_text(const KeyPin& pin) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(kPrefix);
  for (const std::uint8_t byte : pin) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

std::optional<KeyPin> parse_pin(std::string_view text) {
  KeyPin pin{};
  if (!text.starts_with(kPrefix) || text.size() != kPrefix.size() + 2 * pin.size()) return std::nullopt;
  const char* at = text.data() + kPrefix.size();
  for (std::uint8_t& byte : pin) {
    if (std::from_chars(at, at + 2, byte, 16).ptr != at + 2) return std::nullopt;
    at += 2;
  }
  return pin;
}

}  // namespace remotecl
