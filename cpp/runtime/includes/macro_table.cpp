#include "runtime/includes/macro_table.h"

#include <algorithm>

namespace remotecl {
namespace {

bool separates(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) {
  return c == '_' || c == '$' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<signed char>(c) < 0;
}
bool continues_name(char c) { return begins_name(c) || is_digit(c); }

std::size_t end_of_name(std::string_view text, std::size_t at) {
  while (at < text.size() && continues_name(text[at])) ++at;
  return at;
}

std::size_t end_of_number(std::string_view text, std::size_t at) {
  for (; at < text.size(); ++at) {
    const char c = text[at], before = text[at - 1];
    const bool is_sign = (c == '+' || c == '-') && (before == 'e' || before == 'E' || before == 'p' || before == 'P');
    if (!continues_name(c) && c != '.' && !is_sign) break;
  }
  return at;
}

std::size_t end_of_text(std::string_view text, std::size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote) at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

}  // namespace

std::vector<MacroToken> tokens_of(std::string_view text) {
  using Kind = MacroToken::Kind;
  std::vector<MacroToken> tokens;
  bool follows_blank = false;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (separates(c)) {
      follows_blank = true;
      ++at;
      continue;
    }
    Kind kind = Kind::kMark;
    std::size_t end = at + 1;
    if (begins_name(c)) {
      kind = Kind::kName;
      end = end_of_name(text, at);
    } else if (is_digit(c) || (c == '.' && end < text.size() && is_digit(text[end]))) {
      kind = Kind::kNumber;
      end = end_of_number(text, end);
    } else if (c == '"' || c == '\'') {
      kind = Kind::kText;
      end = end_of_text(text, at);
    } else if (c == '#' && end < text.size() && text[end] == '#') {
      ++end;
    }
    tokens.push_back({kind, std::string(text.substr(at, end - at)), follows_blank});
    follows_blank = false;
    at = end;
  }
  return tokens;
}

std::string spelling(const std::vector<MacroToken>& tokens) {
  std::string text;
  for (const MacroToken& token : tokens) {
    if (token.follows_blank && !text.empty()) text += ' ';
    text += token.text;
  }
  return text;
}

void MacroTable::define(std::string_view definition) {
  const std::size_t end = end_of_name(definition, 0);
  if (end == 0) return;
  auto& known = definitions_[std::string(definition.substr(0, end))];
  const std::string_view rest = definition.substr(end);
  if (known.size() > kDefinitionsMax || std::find(known.begin(), known.end(), rest) != known.end()) return;
  known.emplace_back(rest);
  ++size_;
}

void MacroTable::define_by_option(std::string_view definition) {
  const std::size_t end = definition.find('=');
  if (end == std::string_view::npos) return define(std::string(definition) + " 1");
  define(std::string(definition.substr(0, end)) + " " + std::string(definition.substr(end + 1)));
}

std::size_t MacroTable::count(const std::string& name) const {
  const auto at = definitions_.find(name);
  return at == definitions_.end() ? 0 : at->second.size();
}

Macro MacroTable::macro(const std::string& name, std::size_t index) const {
  const std::string_view text = definitions_.at(name)[index];
  Macro macro;
  if (!text.starts_with('(')) {
    macro.body = tokens_of(text);
    return macro;
  }
  macro.takes_arguments = true;
  const std::size_t end = std::min(text.find(')'), text.size());
  bool has_name = false;  // since the last comma
  for (const MacroToken& token : tokens_of(text.substr(1, end - 1))) {
    if (token.kind == MacroToken::Kind::kName) {
      macro.parameters.push_back(token.text);
      has_name = true;
    } else if (token.text == ",") {
      has_name = false;
    } else if (token.text == "." && !macro.is_variadic) {
      if (!has_name) macro.parameters.emplace_back("__VA_ARGS__");  // else "rest...", in GNU's language
      macro.is_variadic = true;
    }
  }
  macro.body = tokens_of(text.substr(std::min(end + 1, text.size())));
  return macro;
}

}  // namespace remotecl
