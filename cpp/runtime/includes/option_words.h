#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace remotecl {

struct OptionWord {
  std::string_view raw;  // as written
  std::string text;      // without quotes
};

// Splits build options at blanks outside of quotes, as native compilers do.
std::vector<OptionWord> option_words(std::string_view options);

// The macros of -D, as NAME or NAME=TEXT.
std::vector<std::string> defined_macros(const std::vector<OptionWord>& words);

}  // namespace remotecl
