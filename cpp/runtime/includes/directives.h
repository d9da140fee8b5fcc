#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace remotecl {

// A line of a text that is for the preprocessor. A value.
struct Directive {
  std::string name;     // "include", "define", ...
  std::string operand;  // what follows, without comments, line breaks and blanks around it
  // Where each character of the operand is in the text.
  std::vector<std::size_t> offsets;
};

// Reads all directives, those that an #if hides included. Joins continued lines, and takes trigraphs and digraphs for
// what they stand for. Any text.
std::vector<Directive> directives_of(std::string_view text);

// Returns false, at once, for most texts that name no files.
bool may_name_files(std::string_view text);

}  // namespace remotecl
