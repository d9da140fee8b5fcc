#pragma once

#include <string>
#include <string_view>

namespace remotecl {

// Makes text from elsewhere safe to print, so that it cannot control a terminal. Control characters, including U+0080
// to U+009F, which UTF-8 encodes in two bytes, are shown as escapes such as \x1b, so that nothing is hidden.
inline std::string printable(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result;
  const auto show = [&](unsigned char byte) {
    result += "\\x";
    result += kDigits[byte >> 4];
    result += kDigits[byte & 15];
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (byte < 0x20 || byte == 0x7f) {
      show(byte);
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
      show(next);
      ++i;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace remotecl
