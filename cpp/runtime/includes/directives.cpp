#include "runtime/includes/directives.h"

#include <algorithm>
#include <array>

namespace remotecl {
namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n'); }
bool is_letter(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Reads a text as a compiler does once it has joined continued lines.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) { join_lines(); }

  std::vector<Directive> read() {
    std::vector<Directive> directives;
    while (!is_over()) {
      skip_blanks();
      if (skip_mark()) {
        directives.push_back(directive());
      } else {
        rest_of_line([](char, std::size_t) {});
      }
    }
    return directives;
  }

 private:
  bool is_over() const { return at_ >= text_.size(); }
  char here() const { return text_[at_]; }
  // The character after this one.
  char next() {
    const std::size_t here = at_;
    skip();
    const char next = is_over() ? '\0' : text_[at_];
    at_ = here;
    return next;
  }
  void skip() {
    ++at_;
    join_lines();
  }

  // Goes on behind line breaks that a backslash hides.
  void join_lines() {
    while (at_ < text_.size() && (text_[at_] == '\\' || text_[at_] == '?')) {
      if (text_[at_] == '?' && text_.substr(at_, 3) != "\?\?/") return;
      std::size_t end = at_ + (text_[at_] == '?' ? 3 : 1);
      while (end < text_.size() && is_blank(text_[end])) ++end;
      if (end >= text_.size() || text_[end] != '\n') return;
      at_ = end + 1;
    }
  }

  void skip_blanks() {
    while (!is_over()) {
      if (is_blank(here())) {
        skip();
      } else if (!skip_comment()) {
        return;
      }
    }
  }

  // Leaves the end of the line behind //.
  bool skip_comment() {
    if (here() != '/') return false;
    const char second = next();
    if (second == '/') {
      while (!is_over() && here() != '\n') skip();
      return true;
    }
    if (second != '*') return false;
    skip();
    skip();
    for (char before = 0; !is_over(); skip()) {
      if (before == '*' && here() == '/') {
        skip();
        return true;
      }
      before = here();
    }
    return true;
  }

  bool skip_mark() {
    if (is_over()) return false;
    std::size_t size = 0;
    if (here() == '#') size = 1;
    if (here() == '%' && next() == ':') size = 2;
    if (text_.substr(at_, 3) == "\?\?=") size = 3;
    for (std::size_t i = 0; i < size; ++i) skip();
    return size != 0;
  }

  Directive directive() {
    Directive found;
    skip_blanks();
    for (; !is_over() && is_letter(here()); skip()) found.name += here();
    const bool names_file = found.name.starts_with("include") || found.name == "import";
    rest_of_line(
        [&found](char c, std::size_t at) {
          if (c == ' ' && (found.operand.empty() || found.operand.back() == ' ')) return;
          found.operand += c;
          found.offsets.push_back(at);
        },
        names_file);
    if (found.operand.ends_with(' ')) {
      found.operand.pop_back();
      found.offsets.pop_back();
    }
    return found;
  }

  // Skips the end of the line, too. Gives each character and where it is, a blank for a comment. `names_file`: < may
  // begin the name of a file, in which // is no comment.
  template <class Take>
  void rest_of_line(Take&& take, bool names_file = false) {
    while (!is_over() && here() != '\n') {
      const std::size_t begin = at_;
      const char first = here();
      if (skip_comment()) {
        take(' ', begin);
        continue;
      }
      skip();
      take(is_blank(first) ? ' ' : first, begin);
      if (first == '"' || first == '\'' || (names_file && first == '<')) quoted(first == '<' ? '>' : first, take);
      names_file = names_file && is_blank(first);
    }
    if (!is_over()) skip();
  }

  template <class Take>
  void quoted(char end, Take&& take) {
    while (!is_over() && here() != '\n') {
      const char c = here();
      take(c, at_);
      skip();
      if (c == end) return;
      if (c != '\\' || end == '>' || is_over() || here() == '\n') continue;
      take(here(), at_);
      skip();
    }
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Directive> directives_of(std::string_view text) { return Reader(text).read(); }

bool may_name_files(std::string_view text) {
  constexpr std::array<std::string_view, 4> kWords = {"include", "import", "embed", "\?\?/"};
  if (std::any_of(kWords.begin(), kWords.end(),
                  [text](std::string_view word) { return text.find(word) != std::string_view::npos; })) {
    return true;
  }
  // A line may end within a word.
  for (std::size_t at = text.find('\\'); at != std::string_view::npos; at = text.find('\\', at + 1)) {
    if (at == 0 || !is_letter(text[at - 1])) continue;
    std::size_t end = at + 1;
    while (end < text.size() && is_blank(text[end])) ++end;
    if (end < text.size() && text[end] == '\n') return true;
  }
  return false;
}

}  // namespace remotecl
