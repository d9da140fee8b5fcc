#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace remotecl {

struct MacroToken {
  enum class Kind { kName, kNumber, kText, kMark };

  Kind kind;
  std::string text;
  bool follows_blank;
};

std::vector<MacroToken> tokens_of(std::string_view text);
// The text that has these tokens.
std::string spelling(const std::vector<MacroToken>& tokens);

struct Macro {
  bool takes_arguments = false;
  bool is_variadic = false;  // the last parameter stands for any number of arguments
  std::vector<std::string> parameters;
  std::vector<MacroToken> body;
};

// All definitions that some texts have for each macro, wherever and under whatever conditions they are. One thread.
class MacroTable {
 public:
  // Of one macro. It has one more if some are left out.
  static constexpr std::size_t kDefinitionsMax = 64;

  // As behind #define.
  void define(std::string_view definition);
  // As behind -D.
  void define_by_option(std::string_view definition);
  std::size_t size() const { return size_; }

  std::size_t count(const std::string& name) const;
  Macro macro(const std::string& name, std::size_t index) const;

 private:
  // By name, what follows the name.
  std::unordered_map<std::string, std::vector<std::string>> definitions_;
  std::size_t size_ = 0;
};

}  // namespace remotecl
