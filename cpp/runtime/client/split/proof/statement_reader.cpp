#include "runtime/client/split/proof/statement_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/client/split/proof/built_ins.h"
#include "runtime/client/split/proof/not_proven.h"

namespace remotecl::proof {
namespace {

constexpr std::size_t kDepthMax = 100;

bool is_name(const Token& token, const std::string& name) {
  return token.kind == Token::Kind::kName && token.text == name;
}

}  // namespace

void StatementReader::read(std::span<const Token> parameters) {
  scopes_.enter();
  for (std::uint32_t dimension = 0; dimension < 3; ++dimension) {
    accesses_.symbols.push_back({SymbolOrigin::Kind::kGlobalId, dimension, {}, {}});
  }
  const bool has_none = parameters.empty() || (parameters.size() == 1 && parameters[0].is("void"));
  for (std::size_t begin = 0; !has_none && begin <= parameters.size();) {
    const auto rest = parameters.subspan(begin);
    const auto comma = std::ranges::find_if(rest, [](const Token& one) { return one.is(","); });
    const auto count = static_cast<std::size_t>(comma - rest.begin());
    parameter(rest.first(count));
    begin += count + 1;
  }
  // The parameters are of the body's block, which may not declare them again.
  expect("{");
  while (!accept("}")) statement();
  scopes_.leave();
}

void StatementReader::parameter(std::span<const Token> tokens) {
  static constexpr std::array kQualifiers{"global", "constant", "const", "restrict", "private"};
  Parameter made;
  std::string type;
  bool is_unsigned = false, has_sign = false, is_memory = false;
  if (tokens.empty() || tokens.back().kind != Token::Kind::kName) {
    throw NotProven("the parameters of the kernel are not followed");
  }
  for (const Token& token : tokens.first(tokens.size() - 1)) {
    if (token.kind == Token::Kind::kMacro) throw NotProven(token, "this macro is not followed");
    is_memory = is_memory || token.is("global") || token.is("constant");
    if (std::ranges::any_of(kQualifiers, [&](const char* one) { return token.is(one); })) continue;
    if (token.is("unsigned") || token.is("signed")) {
      is_unsigned = token.is("unsigned");
      has_sign = true;
    } else if (token.is("*") && !made.is_pointer) {
      made.is_pointer = true;
    } else if (type.empty() && token.kind == Token::Kind::kName && type_named(token.text)) {
      type = token.text;
    } else {
      throw NotProven(token, token.kind == Token::Kind::kName ? why_not(token.text) : "this type is not followed");
    }
  }
  const auto known = type_named(type.empty() && has_sign ? "int" : type);
  const bool is_wrong = !known || !known->is_fixed_size || made.is_pointer != is_memory ||
                        (has_sign && (known->count != 1 || !known->is_signed || !known->is_integer()));
  if (is_wrong) throw NotProven(tokens.back(), "the type of this parameter is not followed");
  made.name = tokens.back().text;
  made.type = *known;
  if (is_unsigned) made.type.is_signed = false;
  const auto index = static_cast<std::uint32_t>(accesses_.parameters.size());
  accesses_.parameters.push_back(made);
  Value value;
  if (!made.is_pointer && made.type.is_integer()) {
    const auto symbol = static_cast<Symbol>(accesses_.symbols.size());
    accesses_.symbols.push_back({SymbolOrigin::Kind::kArgument, index, {}, {}});
    value = arithmetic_.symbol(symbol, common_type(made.type, Type{}));
  }
  declare(tokens.back(), made.is_pointer ? Variable::Kind::kPointer : Variable::Kind::kScalar, value, index);
}

bool StatementReader::statement() {
  const Token at = token();
  const Nesting nesting(*this);
  if (is_over()) throw NotProven(at, "the kernel's text ends here");
  if (at.is("{")) return block();
  if (at.is("if")) return condition();
  if (at.is("return") || at.is("break") || at.is("continue")) return jump();
  if (at.is("for")) {
    loop_for();
  } else if (at.is("while")) {
    loop_while();
  } else if (at.is("do")) {
    loop_do();
  } else if (!accept(";")) {
    if (at.is("switch") || at.is("case") || at.is("default") || at.is("goto") || at.is("volatile") || is(":", 1)) {
      throw NotProven(at, "this is not followed");
    }
    if (!declarations(nullptr)) expression();
    expect(";");
  }
  return false;
}

bool StatementReader::block() {
  expect("{");
  scopes_.enter();
  const std::size_t facts = arithmetic_.facts().size();
  bool ends = false;
  while (!accept("}")) ends = statement() || ends;
  arithmetic_.facts().resize(facts);
  scopes_.leave();
  return ends;
}

void StatementReader::body(const std::vector<FactId>& facts) {
  const std::size_t before = arithmetic_.facts().size();
  arithmetic_.facts().insert(arithmetic_.facts().end(), facts.begin(), facts.end());
  scopes_.enter();
  statement();
  scopes_.leave();
  arithmetic_.facts().resize(before);
}

bool StatementReader::condition() {
  skip();
  expect("(");
  const Value value = expression();
  expect(")");
  const auto branch = [this](const std::vector<FactId>& facts) {
    const std::size_t before = arithmetic_.facts().size();
    arithmetic_.facts().insert(arithmetic_.facts().end(), facts.begin(), facts.end());
    scopes_.enter();
    const bool ends = statement();
    scopes_.leave();
    arithmetic_.facts().resize(before);
    return ends;
  };
  const bool then_ends = branch(value.when_true);
  const bool else_ends = accept("else") && branch(value.when_false);
  // What follows is reached only by the other branch. The block's end takes these facts back.
  const auto& rest = then_ends ? value.when_false : value.when_true;
  if (then_ends != else_ends) arithmetic_.facts().insert(arithmetic_.facts().end(), rest.begin(), rest.end());
  return then_ends && else_ends;
}

bool StatementReader::jump() {
  const bool may_have_value = is("return");
  skip();
  if (may_have_value && !is(";")) throw NotProven(token(), "this is not followed");
  expect(";");
  return true;
}

void StatementReader::loop_while() {
  skip();
  expect("(");
  const Value value = expression();
  expect(")");
  body(value.when_true);
}

void StatementReader::loop_do() {
  skip();
  body({});
  if (!accept("while")) throw NotProven(token(), "this is not followed");
  expect("(");
  expression();
  expect(")");
  expect(";");
}

void StatementReader::loop_for() {
  skip();
  expect("(");
  scopes_.enter();
  const std::size_t variable = variables();
  std::optional<Loop> loop;
  if (!is(";") && !declarations(&loop)) {
    do {
      expression();
    } while (accept(","));
  }
  expect(";");
  if (loop && variables() == variable + 1 && counts_up(loop->name.text)) {
    loop_over(*loop, variable);
  } else {
    Value value;
    if (!is(";")) value = expression();
    expect(";");
    if (!is(")")) {
      do {
        expression();
      } while (accept(","));
    }
    expect(")");
    body(value.when_true);
  }
  scopes_.leave();
}

bool StatementReader::counts_up(const std::string& name) {
  if (!is_name(token(), name) || (!is("<", 1) && !is("<=", 1))) return false;
  std::size_t at = 2, depth = 0;
  for (; !is(";", at) || depth != 0; ++at) {
    if (!has(at)) return false;
    if (token(at).is("(") || token(at).is("[")) ++depth;
    if (token(at).is(")") || token(at).is("]")) --depth;
    if (token(at).is("{") || token(at).is("&&") || token(at).is("||") || token(at).is("?") || depth > kDepthMax) {
      return false;
    }
  }
  const bool by_one =
      (is_name(token(at + 1), name) && is("++", at + 2)) || (is("++", at + 1) && is_name(token(at + 2), name));
  if (by_one) return is(")", at + 3);
  return is_name(token(at + 1), name) && is("+=", at + 2) && token(at + 3).kind == Token::Kind::kInteger &&
         is(")", at + 4);
}

void StatementReader::loop_over(const Loop& loop, std::size_t variable) {
  skip();
  const bool has_last = is("<=");
  skip();
  scopes_.replace(loop.name.text, {});  // its limit may not depend on it
  Value end = expression();
  expect(";");
  // The step; its tokens are known.
  Value step = arithmetic_.literal("1");
  while (!accept(")")) {
    if (token().kind == Token::Kind::kInteger) step = arithmetic_.literal(token().text);
    skip();
  }
  Value symbol;
  const Type type = common_type(loop.type, end.type);
  if (has_last) end = arithmetic_.binary("+", end, arithmetic_.literal("1"));
  end = arithmetic_.converted(end, type);
  const Value begin = arithmetic_.converted(loop.begin, type);
  const Value beyond = arithmetic_.converted(arithmetic_.binary("+", end, step), loop.type);
  const auto last = end.number ? Polynomial::difference(*end.number, Polynomial::number(1)) : std::nullopt;
  const bool is_known = !is_assigned(variable) && last && begin.number && beyond.number && step.number &&
                        step.number->as_number().value_or(0) > 0;
  if (is_known) {
    symbol = arithmetic_.symbol(static_cast<Symbol>(accesses_.symbols.size()), loop.type);
    symbol.duties = united(united(begin.duties, end.duties), beyond.duties);
    accesses_.symbols.push_back({SymbolOrigin::Kind::kLoop, 0, *begin.number, *last});
  }
  scopes_.replace(loop.name.text, symbol);
  body({});
}

bool StatementReader::declarations(std::optional<Loop>* loop) {
  const auto type = accept_type();
  if (!type) return false;
  do {
    if (is("*")) throw NotProven(token(), "pointers of the kernel's own are not followed");
    const Token name = token();
    skip();
    if (is("[")) {
      while (accept("[")) {
        expression();
        expect("]");
      }
      if (accept("=")) initializer_list();
      declare(name, Variable::Kind::kArray, {});
      continue;
    }
    Value value;
    if (accept("=")) value = arithmetic_.converted(expression(), *type);
    if (loop != nullptr) *loop = Loop{name, value, *type};
    declare(name, Variable::Kind::kScalar, value);
  } while (accept(","));
  return true;
}

void StatementReader::initializer_list() {
  if (!accept("{")) throw NotProven(token(), "this is not followed");
  while (!accept("}")) {
    if (is("{")) {
      initializer_list();
    } else {
      expression();
    }
    if (!is("}")) expect(",");
  }
}

Accesses read_kernel(const KernelText& text) {
  Accesses ignored, accesses;
  StatementReader first(text, ignored, nullptr);
  first.read(text.parameters);
  StatementReader second(text, accesses, &first.assigned());
  second.read(text.parameters);
  return accesses;
}

}  // namespace remotecl::proof
