#include "runtime/includes/include_names.h"

#include <algorithm>
#include <array>
#include <set>

#include "runtime/includes/directives.h"
#include "runtime/includes/macro_expansion.h"
#include "runtime/includes/option_words.h"

namespace remotecl {
namespace {

constexpr std::array<std::string_view, 5> kIncludes = {"include", "include_next", "__include_macros", "import",
                                                       "embed"};
constexpr std::string_view kQuestion = "__has_";

bool is_in(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }
bool asks(std::string_view text) { return is_in(text, "__has_include") || is_in(text, "__has_embed"); }

// Where the bracket at `open` ends; npos if it does not.
std::size_t closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == '"') {
      at = text.find('"', at + 1);
      if (at == std::string_view::npos) return at;
    }
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at;
  }
  return std::string_view::npos;
}

void add_questions(const Directive& directive, std::size_t source, std::vector<IncludeMention>& mentions) {
  const std::string_view text = directive.operand;
  for (std::size_t at = text.find(kQuestion); at != std::string_view::npos; at = text.find(kQuestion, at + 1)) {
    const std::size_t open = text.find_first_of(" (", at);
    if (open == std::string_view::npos || !asks(text.substr(at, open - at))) continue;
    std::size_t begin = text.find_first_not_of(' ', open);
    if (begin == std::string_view::npos || text[begin] != '(') continue;
    std::size_t end = closing(text, begin);
    if (end == std::string_view::npos) return;
    begin = text.find_first_not_of(' ', begin + 1);
    while (end > begin && text[end - 1] == ' ') --end;
    if (begin >= end) continue;
    mentions.push_back({source, std::string(text.substr(at, open - at)), std::string(text.substr(begin, end - begin)),
                        directive.offsets[begin], directive.offsets[end - 1] + 1});
  }
}

}  // namespace

void IncludeNames::add_options(std::string_view options) {
  std::vector<OptionWord> words = option_words(options);
  const auto define = [&] {
    for (const std::string& macro : defined_macros(words)) {
      hides_questions_ = hides_questions_ || asks(macro);
      table_.define_by_option(macro);
    }
  };
  define();
  // Some drivers do not know quotes.
  for (OptionWord& word : words) word.text = word.raw;
  define();
}

void IncludeNames::add(std::string_view text) {
  const std::size_t source = sources_++;
  for (const Directive& directive : directives_of(text)) {
    if (directive.name == "define") {
      hides_questions_ = hides_questions_ || asks(directive.operand);
      table_.define(directive.operand);
    } else if (directive.name == "if" || directive.name == "elif") {
      add_questions(directive, source, mentions_);
    } else if (!directive.operand.empty() &&
               std::find(kIncludes.begin(), kIncludes.end(), directive.name) != kIncludes.end()) {
      mentions_.push_back(
          {source, directive.name, directive.operand, directive.offsets.front(), directive.offsets.back() + 1});
    }
  }
}

std::optional<IncludeName> IncludeNames::written_name(std::string_view operand) {
  if (!operand.starts_with('"') && !operand.starts_with('<')) return std::nullopt;
  const bool is_quoted = operand[0] == '"';
  const std::size_t end = operand.find(is_quoted ? '"' : '>', 1);
  if (end == std::string_view::npos || end == 1) return std::nullopt;
  return IncludeName{std::string(operand.substr(1, end - 1)), is_quoted};
}

std::vector<IncludeName> IncludeNames::names_of(const IncludeMention& mention, bool& is_complete) {
  if (const auto name = written_name(mention.operand)) return {*name};
  Known& known = known_[mention.operand];
  if (known.macros != table_.size()) {
    std::set<std::string> texts;
    std::set<IncludeName> names;
    known.is_complete = MacroExpansion(table_, budget_).expand(mention.operand, texts);
    for (const std::string& text : texts) {
      if (const auto name = written_name(text)) names.insert(*name);
    }
    known.names.assign(names.begin(), names.end());
    known.macros = table_.size();
  }
  is_complete = is_complete && known.is_complete;
  return known.names;
}

bool IncludeNames::is_unknown(const IncludeMention& mention) const {
  const auto tokens = tokens_of(mention.operand);
  return tokens.size() == 1 && tokens[0].kind == MacroToken::Kind::kName && table_.count(tokens[0].text) == 0;
}

std::string changed(std::string_view text, const std::vector<IncludeChange>& changes) {
  std::string result;
  std::size_t at = 0;
  for (const IncludeChange& change : changes) {
    const std::string_view before = text.substr(change.begin, change.end - change.begin);
    result.append(text.substr(at, change.begin - at)).append(change.operand);
    for (auto lines = std::count(before.begin(), before.end(), '\n'); lines > 0; --lines) result += "\\\n";
    at = change.end;
  }
  return result.append(text.substr(at));
}

}  // namespace remotecl
