#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/includes/macro_table.h"

namespace remotecl {

// What the operand of a directive may become, as C expands macros, if each macro has any of its definitions or none.
// One thread.
class MacroExpansion {
 public:
  // `budget`: steps that it may take, shared with others.
  MacroExpansion(const MacroTable& table, std::size_t& budget) : table_(table), budget_(budget) {}

  // Adds the texts. Returns false if there are too many, or too long ones.
  bool expand(std::string_view operand, std::set<std::string>& results);

 private:
  struct Token : MacroToken {
    std::vector<std::uint32_t> origins;  // the numbers of the macros that it comes from
  };
  using Tokens = std::vector<Token>;
  using Arguments = std::map<std::string, Tokens>;
  // A macro that was met, and the definition that is tried.
  struct Choice {
    std::string name;
    std::size_t count, index = 0;
  };

  bool choose_next();
  // Null: the macro is not defined.
  const Macro* chosen(const std::string& name);
  Tokens expanded(Tokens tokens, int depth);
  // Takes the arguments from the end of `rest`, which is in reverse. Returns false if there are none.
  bool take_arguments(const Macro& macro, Tokens& rest, Arguments& arguments);
  std::uint32_t number_of(const std::string& name);
  Tokens replacement(const Macro& macro, const Arguments& arguments, int depth);
  void step();

  const MacroTable& table_;
  std::size_t& budget_;
  std::size_t steps_ = 0;  // of one expansion
  std::vector<Choice> choices_;
  std::map<std::pair<std::string, std::size_t>, Macro> macros_;
  std::map<std::string, std::uint32_t> numbers_;
};

}  // namespace remotecl
