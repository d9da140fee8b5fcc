#include "runtime/includes/option_words.h"

#include <cctype>

namespace remotecl {

std::vector<OptionWord> option_words(std::string_view options) {
  std::vector<OptionWord> result;
  std::size_t at = 0;
  while (at < options.size()) {
    if (std::isspace(static_cast<unsigned char>(options[at])) != 0) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    std::string text;
    char quote = 0;
    for (; at < options.size(); ++at) {
      const char c = options[at];
      if (quote == 0 && std::isspace(static_cast<unsigned char>(c)) != 0) break;
      if (quote == 0 && (c == '"' || c == '\'')) {
        quote = c;
      } else if (c == quote) {
        quote = 0;
      } else if (c == '\\' && at + 1 < options.size() && (options[at + 1] == ' ' || options[at + 1] == '"')) {
        text += options[++at];
      } else {
        text += c;
      }
    }
    result.push_back({options.substr(begin, at - begin), std::move(text)});
  }
  return result;
}

std::vector<std::string> defined_macros(const std::vector<OptionWord>& words) {
  std::vector<std::string> macros;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].text.starts_with("-D")) continue;
    if (words[i].text.size() > 2) {
      macros.push_back(words[i].text.substr(2));
    } else if (i + 1 < words.size()) {
      macros.push_back(words[++i].text);
    }
  }
  return macros;
}

}  // namespace remotecl
