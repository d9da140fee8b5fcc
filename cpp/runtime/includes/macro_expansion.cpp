#include "runtime/includes/macro_expansion.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace remotecl {
namespace {

using Kind = MacroToken::Kind;

constexpr std::size_t kExpansionsMax = 256, kStepsMax = 10'000, kNestedMax = 32;

struct TooMuch : std::runtime_error {
  TooMuch() : std::runtime_error("too much") {}
};

// As the operator # does.
template <class Tokens>
MacroToken quoted(const Tokens& tokens) {
  std::string text = "\"";
  for (const MacroToken& token : tokens) {
    if (token.follows_blank && text.size() > 1) text += ' ';
    for (const char c : token.text) {
      if (token.kind == Kind::kText && (c == '"' || c == '\\')) text += '\\';
      text += c;
    }
  }
  return {Kind::kText, text + '"', false};
}

}  // namespace

void MacroExpansion::step() {
  if (budget_ == 0 || ++steps_ > kStepsMax) throw TooMuch();
  --budget_;
}

bool MacroExpansion::expand(std::string_view operand, std::set<std::string>& results) {
  if (operand.size() > kStepsMax) return false;
  Tokens tokens;
  for (MacroToken& token : tokens_of(operand)) tokens.push_back({std::move(token), {}});
  choices_.clear();
  try {
    for (std::size_t i = 0; i == 0 || choose_next(); ++i) {
      if (i == kExpansionsMax) return false;
      steps_ = 0;
      const Tokens all = expanded(tokens, 0);
      results.insert(spelling({all.begin(), all.end()}));
    }
  } catch (const TooMuch&) {
    return false;
  }
  return true;
}

// Counts through all combinations. Which macros are met depends on the choices before them.
bool MacroExpansion::choose_next() {
  while (!choices_.empty()) {
    if (++choices_.back().index <= choices_.back().count) return true;
    choices_.pop_back();
  }
  return false;
}

const Macro* MacroExpansion::chosen(const std::string& name) {
  const auto has_name = [&name](const Choice& choice) { return choice.name == name; };
  auto choice = std::find_if(choices_.begin(), choices_.end(), has_name);
  if (choice == choices_.end()) {
    const std::size_t count = table_.count(name);
    if (count == 0) return nullptr;
    if (count > MacroTable::kDefinitionsMax || choices_.size() == kNestedMax) throw TooMuch();
    choice = choices_.insert(choices_.end(), {name, count});
  }
  if (choice->index == choice->count) return nullptr;
  const auto [at, is_new] = macros_.try_emplace({name, choice->index});
  if (is_new) at->second = table_.macro(name, choice->index);
  return &at->second;
}

// "If the name of the macro being replaced is found during this scan of the replacement list, it is not replaced."
MacroExpansion::Tokens MacroExpansion::expanded(Tokens tokens, int depth) {
  if (depth > static_cast<int>(kNestedMax)) throw TooMuch();
  Tokens result;
  std::reverse(tokens.begin(), tokens.end());
  while (!tokens.empty()) {
    step();
    Token token = std::move(tokens.back());
    tokens.pop_back();
    const bool is_name = token.kind == Kind::kName && table_.count(token.text) != 0;
    const std::uint32_t number = is_name ? number_of(token.text) : 0;
    const bool is_new = std::find(token.origins.begin(), token.origins.end(), number) == token.origins.end();
    const Macro* const macro = is_name && is_new ? chosen(token.text) : nullptr;
    Arguments arguments;
    if (macro == nullptr || (macro->takes_arguments && !take_arguments(*macro, tokens, arguments))) {
      result.push_back(std::move(token));
      continue;
    }
    token.origins.push_back(number);
    Tokens put = replacement(*macro, arguments, depth);
    for (Token& each : put) {
      each.origins.insert(each.origins.end(), token.origins.begin(), token.origins.end());
      if (each.origins.size() > kNestedMax) throw TooMuch();
    }
    if (!put.empty()) put.front().follows_blank = token.follows_blank;
    std::move(put.rbegin(), put.rend(), std::back_inserter(tokens));
  }
  return result;
}

std::uint32_t MacroExpansion::number_of(const std::string& name) {
  return numbers_.try_emplace(name, static_cast<std::uint32_t>(numbers_.size())).first->second;
}

bool MacroExpansion::take_arguments(const Macro& macro, Tokens& rest, Arguments& arguments) {
  if (rest.empty() || rest.back().text != "(") return false;
  std::vector<Tokens> found(1);
  int depth = 0;
  auto at = rest.rbegin() + 1;
  for (; at != rest.rend(); ++at) {
    step();
    if (at->text == ")" && depth-- == 0) break;
    if (at->text == "(") ++depth;
    const bool is_last = macro.is_variadic && found.size() == macro.parameters.size();
    if (at->text == "," && depth == 0 && !is_last) {
      found.emplace_back();
    } else {
      found.back().push_back(*at);
    }
  }
  if (at == rest.rend()) return false;
  rest.erase(at.base() - 1, rest.end());
  found.resize(std::max(found.size(), macro.parameters.size()));
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) arguments[macro.parameters[i]] = std::move(found[i]);
  return true;
}

MacroExpansion::Tokens MacroExpansion::replacement(const Macro& macro, const Arguments& arguments, int depth) {
  Tokens result;
  bool pastes = false;  // the next token to the one before
  const auto& body = macro.body;
  for (std::size_t i = 0; i < body.size(); ++i) {
    step();
    if (body[i].text == "##" && i != 0 && i + 1 != body.size()) {
      pastes = true;
      continue;
    }
    const bool is_pasted = pastes || (i + 1 < body.size() && body[i + 1].text == "##");
    Tokens put{{body[i], {}}};
    const auto next = i + 1 < body.size() ? arguments.find(body[i + 1].text) : arguments.end();
    if (const auto at = arguments.find(body[i].text); at != arguments.end()) {
      put = is_pasted ? at->second : expanded(at->second, depth + 1);
      if (!put.empty()) put.front().follows_blank = body[i].follows_blank;
    } else if (macro.takes_arguments && body[i].text == "#" && next != arguments.end()) {
      put = {{quoted(next->second), {}}};
      put.front().follows_blank = body[i].follows_blank;
      ++i;
    }
    for (std::size_t n = 0; n < put.size(); ++n) step();
    if (std::exchange(pastes, false) && !result.empty() && !put.empty()) {
      const std::string text = result.back().text + put.front().text;
      const auto pasted = tokens_of(text);
      static_cast<MacroToken&>(put.front()) = {pasted.size() == 1 ? pasted[0].kind : Kind::kMark, text,
                                               result.back().follows_blank};
      result.pop_back();
    }
    std::move(put.begin(), put.end(), std::back_inserter(result));
  }
  return result;
}

}  // namespace remotecl
