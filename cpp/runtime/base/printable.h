#pragma once

#include <string>
#include <string_view>

namespace remotecl {

// What somebody else says, for people: nothing in it controls a terminal, neither control characters nor those that
// UTF-8 makes two bytes of (U+0080 to U+009F).
inline std::string printable(std::string_view text) {
  std::string result(text);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto byte = static_cast<unsigned char>(result[i]);
    const auto next = i + 1 < result.size() ? static_cast<unsigned char>(result[i + 1]) : 0;
    if (byte < 0x20 || byte == 0x7f) result[i] = ' ';
    if (byte == 0xc2 && next >= 0x80 && next < 0xa0) result[i] = result[i + 1] = ' ';
  }
  return result;
}

}  // namespace remotecl
