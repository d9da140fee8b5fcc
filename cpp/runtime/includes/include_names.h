#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/includes/macro_table.h"

namespace remotecl {

// A name between quotation marks, or between < and >.
struct IncludeName {
  std::string name;
  bool is_quoted = false;

  std::string text() const { return is_quoted ? '"' + name + '"' : '<' + name + '>'; }
  auto operator<=>(const IncludeName&) const = default;  // NOLINT(modernize-use-nullptr): a 0 of the compiler
};

// One place of a text that names a file: #include and its like, or __has_include.
struct IncludeMention {
  std::size_t source;     // which text, in the order of add()
  std::string directive;  // "include", "include_next", "__has_include", ...
  std::string operand;
  std::size_t begin, end;  // of the operand in the text

  bool is_question() const { return directive.starts_with("__has"); }
};

// The files that the texts of a program may name, whichever way their conditionals go and wherever their macros are
// defined: only the compiler on a device knows that. Bounded in time, also for texts that are made to take long. One
// thread.
class IncludeNames {
 public:
  void add_options(std::string_view options);
  void add(std::string_view text);

  const std::vector<IncludeMention>& mentions() const { return mentions_; }
  // Changes when further texts bring further names.
  std::size_t macros() const { return table_.size(); }
  // Returns the name that the text itself has; nullopt if macros make it.
  static std::optional<IncludeName> written_name(std::string_view operand);
  // All names that a mention may have, sorted. Sets `is_complete` to false if there are too many.
  std::vector<IncludeName> names_of(const IncludeMention& mention, bool& is_complete);
  // Whether a mention is a macro that only a device can know.
  bool is_unknown(const IncludeMention& mention) const;
  // Whether there may be questions that are no mentions.
  bool hides_questions() const { return hides_questions_; }

 private:
  static constexpr std::size_t kStepsMax = 1'000'000;

  // The names of an operand, as long as there are this many macros.
  struct Known {
    std::size_t macros = 0;
    bool is_complete = true;
    std::vector<IncludeName> names;
  };

  MacroTable table_;
  std::vector<IncludeMention> mentions_;
  std::unordered_map<std::string, Known> known_;
  std::size_t sources_ = 0, budget_ = kStepsMax;
  bool hides_questions_ = false;
};

// Another operand for a mention.
struct IncludeChange {
  std::size_t begin, end;
  std::string operand;
};

// The text with these changes, which are in order. Its lines keep their numbers.
std::string changed(std::string_view text, const std::vector<IncludeChange>& changes);

}  // namespace remotecl
