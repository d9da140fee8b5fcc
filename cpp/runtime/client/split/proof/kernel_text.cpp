#include "runtime/client/split/proof/kernel_text.h"

#include <optional>

#include "runtime/client/split/proof/not_proven.h"

namespace remotecl::proof {
namespace {

bool opens(const Token& token) { return token.is("(") || token.is("[") || token.is("{"); }
bool closes(const Token& token, char open) {
  return open == '(' ? token.is(")") : open == '[' ? token.is("]") : token.is("}");
}

std::size_t behind_attributes(std::span<const Token> tokens, std::size_t at) {
  while (tokens[at].is("__attribute__")) {
    ++at;
    if (!tokens[at].is("(")) throw NotProven(tokens[at], "this attribute is not followed");
    at = behind_brackets(tokens, at);
  }
  return at;
}

struct Head {
  std::size_t name, open, behind;  // the name, the bracket of the parameters, and what follows them
};

// `at`: behind the word `kernel`.
Head read_head(std::span<const Token> tokens, std::size_t at) {
  at = behind_attributes(tokens, at);
  if (!tokens[at].is("void")) throw NotProven(tokens[at], "a kernel's declaration is not followed");
  at = behind_attributes(tokens, at + 1);
  if (tokens[at].kind != Token::Kind::kName || !tokens[at + 1].is("(")) {
    throw NotProven(tokens[at], "a kernel's declaration is not followed");
  }
  const std::size_t behind = behind_attributes(tokens, behind_brackets(tokens, at + 1));
  return {at, at + 1, behind};
}

}  // namespace

std::size_t behind_brackets(std::span<const Token> tokens, std::size_t open) {
  std::string stack;
  for (std::size_t at = open; tokens[at].kind != Token::Kind::kEnd; ++at) {
    const Token& token = tokens[at];
    if (opens(token)) stack += token.text;
    if (!token.is(")") && !token.is("]") && !token.is("}")) continue;
    if (!closes(token, stack.back())) throw NotProven(token, "the brackets are not balanced");
    stack.pop_back();
    if (stack.empty()) return at + 1;
  }
  throw NotProven(tokens[open], "this bracket is not closed");
}

KernelText find_kernel(std::span<const Token> tokens, const std::string& name) {
  KernelText text;
  std::optional<Token> found;
  for (std::size_t at = 0; tokens[at].kind != Token::Kind::kEnd;) {
    const Token& token = tokens[at];
    if (token.kind == Token::Kind::kMacro) throw NotProven(token, "this macro is not followed");
    if (token.kind == Token::Kind::kName) text.declared.insert(token.text);
    if (token.is(")") || token.is("]") || token.is("}")) throw NotProven(token, "the brackets are not balanced");
    if (!token.is("kernel")) {
      at = opens(token) ? behind_brackets(tokens, at) : at + 1;
      continue;
    }
    const Head head = read_head(tokens, at + 1);
    at = head.behind;
    if (!tokens[at].is("{")) continue;
    const std::size_t end = behind_brackets(tokens, at);
    if (tokens[head.name].text == name) {
      if (found) throw NotProven(tokens[head.name], "the kernel is defined twice");
      found = tokens[head.name];
      text.parameters = tokens.subspan(head.open + 1, head.behind - head.open - 2);
      text.body = tokens.subspan(at, end - at);
    }
    at = end;
  }
  if (!found) throw NotProven("the source has no kernel '" + name + "' that is followed");
  return text;
}

}  // namespace remotecl::proof
