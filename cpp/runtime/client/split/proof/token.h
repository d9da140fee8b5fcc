#pragma once

#include <string>

namespace remotecl::proof {

struct Token {
  enum class Kind { kName, kMacro, kInteger, kFloating, kText, kPunctuation, kEnd };

  bool is(const char* wanted) const { return (kind == Kind::kName || kind == Kind::kPunctuation) && text == wanted; }

  Kind kind = Kind::kEnd;  // kMacro: the name of a macro that is not followed; kText: a string or character
  std::string text;
  int line = 0;
};

}  // namespace remotecl::proof
