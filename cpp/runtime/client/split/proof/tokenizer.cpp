#include "runtime/client/split/proof/tokenizer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "runtime/client/split/proof/not_proven.h"

namespace remotecl::proof {
namespace {

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// The longest first.
constexpr std::array<std::string_view, 24> kPunctuation{
    "<<=", ">>=", "...", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=",
    "-=",  "*=",  "/=",  "%=", "&=", "|=", "^=", "++", "--", "->", "##", "::"};
constexpr std::array<std::string_view, 6> kDigraphs{"<:", ":>", "<%", "%>", "%:", "??"};

// Splits text into tokens without a preprocessor. A directive is a token "#" at the begin of its line.
class Scanner {
 public:
  explicit Scanner(const std::string& text) : text_(text) {}

  Token next() {
    skip_space();
    token_began_line_ = std::exchange(line_begins_, false);
    Token token;
    token.line = line_;
    if (at_ >= text_.size()) return token;
    const char c = text_[at_];
    const char after = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (begins_name(c)) {
      token.kind = Token::Kind::kName;
      take(token, is_in_name);
    } else if (is_digit(c) || (c == '.' && is_digit(after))) {
      number(token);
    } else if (c == '"' || c == '\'') {
      quoted(token);
    } else {
      punctuation(token);
    }
    return token;
  }
  // Whether the last token was the first one of its line.
  bool began_line() const { return token_began_line_; }
  bool line_ends_before_next() {
    const int line = line_;
    skip_space();
    return at_ >= text_.size() || line_ != line;
  }
  bool is_next(char c) const { return at_ < text_.size() && text_[at_] == c; }

 private:
  // Whether a backslash joins this line with the next one.
  bool joins() const { return text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n'; }
  void skip_space() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        line_begins_ = true;
        ++line_;
        ++at_;
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++at_;
      } else if (text_.compare(at_, 2, "//") == 0) {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (text_.compare(at_, 2, "/*") == 0) {
        skip_comment();
      } else {
        return;
      }
    }
  }
  void skip_comment() {
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == std::string::npos) throw NotProven({{}, "/*", line_}, "this comment has no end");
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    at_ = end + 2;
  }
  template <class Belongs>
  void take(Token& token, Belongs&& belongs) {
    while (at_ < text_.size() && belongs(text_[at_])) token.text += text_[at_++];
  }
  void number(Token& token) {
    const bool is_hexadecimal = text_.compare(at_, 2, "0x") == 0 || text_.compare(at_, 2, "0X") == 0;
    const auto is_exponent = [is_hexadecimal](char c) {
      return is_hexadecimal ? c == 'p' || c == 'P' : c == 'e' || c == 'E';
    };
    bool is_floating = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool is_sign = (c == '+' || c == '-') && !token.text.empty() && is_exponent(token.text.back());
      if (!is_in_name(c) && c != '.' && !is_sign) break;
      is_floating = is_floating || c == '.' || is_exponent(c) || (!is_hexadecimal && (c == 'f' || c == 'F'));
      token.text += c;
      ++at_;
    }
    token.kind = is_floating ? Token::Kind::kFloating : Token::Kind::kInteger;
  }
  void quoted(Token& token) {
    const char quote = text_[at_];
    token.kind = Token::Kind::kText;
    do {
      if (text_[at_] == '\\') token.text += text_[at_++];
      if (at_ >= text_.size() || text_[at_] == '\n') throw NotProven(token, "this text has no end");
      token.text += text_[at_++];
    } while (at_ >= text_.size() || text_[at_] != quote);
    token.text += text_[at_++];
  }
  void punctuation(Token& token) {
    const std::string_view rest = std::string_view(text_).substr(at_);
    for (const std::string_view digraph : kDigraphs) {
      if (rest.starts_with(digraph)) {
        throw NotProven({{}, std::string(digraph), line_}, "digraphs and trigraphs are not followed");
      }
    }
    token.kind = Token::Kind::kPunctuation;
    const auto longest = std::ranges::find_if(kPunctuation, [rest](auto one) { return rest.starts_with(one); });
    token.text = longest != kPunctuation.end() ? std::string(*longest) : std::string(1, text_[at_]);
    if (token.text == "\\" || static_cast<unsigned char>(token.text[0]) >= 0x80) {
      throw NotProven(token, "this character is not followed");
    }
    at_ += token.text.size();
  }

  const std::string& text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_begins_ = true;  // no token of this line has been read
  bool token_began_line_ = false;
};

// Joins lines that end with a backslash. As many empty lines follow the joined line, so that line numbers stay the
// same.
std::string join_lines(const std::string& source) {
  std::string joined;
  std::size_t owed = 0;
  for (std::size_t at = 0; at < source.size(); ++at) {
    if (source[at] == '\r') continue;
    const std::size_t end = source.compare(at, 3, "\\\r\n") == 0 ? 3 : source.compare(at, 2, "\\\n") == 0 ? 2 : 0;
    if (end != 0) {
      ++owed;
      at += end - 1;
      continue;
    }
    joined += source[at];
    if (source[at] != '\n') continue;
    joined.append(owed, '\n');
    owed = 0;
  }
  return joined;
}

class Macros {
 public:
  void define(const Token& name, std::vector<Token> body, bool is_function) {
    if (body.size() == 3 && body[0].is("(") && body[2].is(")")) body = {body[1]};
    const bool is_new = bodies_.find(name.text) == bodies_.end();
    const bool is_one = !is_function && body.size() == 1 && body[0].kind != Token::Kind::kPunctuation;
    require_nested(name, body);
    auto& entry = bodies_[name.text];
    if (is_new && is_one && body[0].text != name.text) {
      entry = body[0];
    } else {
      entry.reset();
    }
  }
  Token replaced(const Token& token) const {
    if (token.kind != Token::Kind::kName) return token;
    const auto found = bodies_.find(token.text);
    if (found == bodies_.end()) return token;
    if (!found->second || bodies_.find(found->second->text) != bodies_.end()) {
      return {Token::Kind::kMacro, token.text, token.line};
    }
    return {found->second->kind, found->second->text, token.line};
  }

 private:
  // Requires balanced brackets, so that no macro can change which brackets belong together, whether it is left out or
  // put in.
  static void require_nested(const Token& name, const std::vector<Token>& body) {
    std::string open;
    for (const Token& token : body) {
      if (token.is("(") || token.is("{") || token.is("[")) open += token.text;
      const char wanted = token.is(")") ? '(' : token.is("}") ? '{' : token.is("]") ? '[' : '\0';
      if (wanted == '\0') continue;
      if (open.empty() || open.back() != wanted) throw NotProven(name, "the brackets of this macro are not balanced");
      open.pop_back();
    }
    if (!open.empty()) throw NotProven(name, "the brackets of this macro are not balanced");
  }

  std::map<std::string, std::optional<Token>> bodies_;  // nullopt: not followed
};

std::vector<Token> tokens_of(const std::string& text) {
  Scanner scanner(text);
  std::vector<Token> tokens;
  for (Token token = scanner.next(); token.kind != Token::Kind::kEnd; token = scanner.next()) tokens.push_back(token);
  return tokens;
}

void define_option(Macros& macros, const std::string& definition) {
  const std::size_t equals = definition.find('=');
  const std::vector<Token> name = tokens_of(definition.substr(0, equals));
  if (name.empty() || name[0].kind != Token::Kind::kName) {
    throw NotProven("the build option '-D" + definition + "' is not followed");
  }
  const std::string value = equals == std::string::npos ? "1" : definition.substr(equals + 1);
  macros.define(name[0], tokens_of(value), name.size() != 1);
}

void read_options(Macros& macros, const std::string& options) {
  if (options.find_first_of("\"'\\") != std::string::npos) {
    throw NotProven("quoted build options are not followed: " + options);
  }
  std::vector<std::string> words(1);
  for (const char c : options) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    const bool is_known = word.empty() || word == "-w" || word == "-Werror" || word == "-g" ||
                          word.starts_with("-cl-") || word.starts_with("-O");
    if (word == "-I") {
      ++at;
    } else if (word == "-D") {
      define_option(macros, ++at < words.size() ? words[at] : "");
    } else if (word.starts_with("-D")) {
      define_option(macros, word.substr(2));
    } else if (!is_known && !word.starts_with("-I")) {
      throw NotProven("the build option '" + word + "' is not known");
    }
  }
}

// `hash` begins a directive.
void directive(Scanner& scanner, Macros& macros, const Token& hash) {
  if (scanner.line_ends_before_next()) return;
  const Token name = scanner.next();
  std::vector<Token> rest;
  Token defined;
  bool is_function = false;
  if (name.is("define") && !scanner.line_ends_before_next()) {
    defined = scanner.next();
    is_function = scanner.is_next('(');
  }
  while (!scanner.line_ends_before_next()) rest.push_back(scanner.next());
  // Other pragmas may change macros.
  if (name.is("pragma") && !rest.empty() && (rest[0].is("OPENCL") || rest[0].is("unroll"))) return;
  if (!name.is("define") || defined.kind != Token::Kind::kName) {
    throw NotProven({{}, "#" + name.text, hash.line}, "this directive is not followed");
  }
  macros.define(defined, std::move(rest), is_function);
}

// Gives each keyword one spelling, without underscores.
Token usual(Token token) {
  static constexpr std::array<std::string_view, 7> kWords{"__kernel",  "__global",   "__constant", "__local",
                                                          "__private", "__restrict", "__const"};
  if (token.kind == Token::Kind::kName && std::ranges::find(kWords, token.text) != kWords.end()) {
    token.text = token.text.substr(2);
  }
  return token;
}

}  // namespace

std::vector<Token> tokenize(const std::string& source, const std::string& options) {
  Macros macros;
  read_options(macros, options);
  const std::string joined = join_lines(source);
  Scanner scanner(joined);
  std::vector<Token> tokens;
  for (;;) {
    const Token token = scanner.next();
    if (token.is("#") && scanner.began_line()) {
      directive(scanner, macros, token);
    } else {
      if (token.is("#") || token.is("##")) throw NotProven(token, "the preprocessor is not followed here");
      tokens.push_back(usual(macros.replaced(token)));
      if (token.kind == Token::Kind::kEnd) return tokens;
    }
  }
}

}  // namespace remotecl::proof
