#include "runtime/client/split/proof/expression_reader.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "runtime/client/split/proof/built_ins.h"
#include "runtime/client/split/proof/not_proven.h"

namespace remotecl::proof {
namespace {

// Levels of precedence, from the operators that bind least.
constexpr int kLevels = 10;
bool is_at_level(const std::string& operation, int level) {
  static constexpr std::array<std::array<std::string_view, 4>, kLevels> kOperations{{{"||"},
                                                                                     {"&&"},
                                                                                     {"|"},
                                                                                     {"^"},
                                                                                     {"&"},
                                                                                     {"==", "!="},
                                                                                     {"<", ">", "<=", ">="},
                                                                                     {"<<", ">>"},
                                                                                     {"+", "-"},
                                                                                     {"*", "/", "%"}}};
  const auto& level_operations = kOperations[static_cast<std::size_t>(level)];
  return !operation.empty() && std::ranges::find(level_operations, operation) != level_operations.end();
}

bool is_assignment(const Token& token) {
  static constexpr std::array<std::string_view, 11> kOperations{
      "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
  return token.kind == Token::Kind::kPunctuation && std::ranges::find(kOperations, token.text) != kOperations.end();
}

// Holds facts while it lives.
class Holding {
 public:
  Holding(std::vector<FactId>& facts, const std::vector<FactId>& more) : facts_(facts), before_(facts.size()) {
    facts.insert(facts.end(), more.begin(), more.end());
  }
  ~Holding() { facts_.resize(before_); }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

 private:
  std::vector<FactId>& facts_;
  const std::size_t before_;
};

}  // namespace

ExpressionReader::ExpressionReader(const KernelText& text, Accesses& accesses, const std::set<std::size_t>* assigned)
    : accesses_(accesses), arithmetic_(accesses), text_(text), known_(assigned) {}

ExpressionReader::Nesting::Nesting(ExpressionReader& reader) : reader_(reader) {
  constexpr int kDepthMax = 100;
  if (reader_.depth_ >= kDepthMax) throw NotProven(reader.token(), "the kernel is nested too deeply");
  ++reader_.depth_;
}

bool ExpressionReader::accept(const char* text) {
  if (!is(text)) return false;
  skip();
  return true;
}

void ExpressionReader::expect(const char* text) {
  if (!accept(text)) throw NotProven(token(), std::string("a '") + text + "' was expected; this is not followed");
}

std::optional<Type> ExpressionReader::accept_type() {
  const std::size_t begin = at_;
  while (is("const") || is("private")) skip();
  const bool is_unsigned = is("unsigned");
  const bool has_sign = is_unsigned || is("signed");
  if (has_sign) skip();
  std::optional<Type> type;
  if (token().kind == Token::Kind::kName) type = type_named(token().text);
  if (type && has_sign && (type->kind != Type::Kind::kInteger || type->count != 1 || !type->is_signed)) {
    throw NotProven(token(), "this type is not followed");
  }
  if (type) {
    skip();
  } else if (has_sign) {
    type = Type{};
  } else {
    at_ = begin;
    return std::nullopt;
  }
  if (is_unsigned) type->is_signed = false;
  while (is("const")) skip();
  if (token().kind == Token::Kind::kName && has_sign && type_named(token().text)) {
    throw NotProven(token(), "this type is not followed");
  }
  return type;
}

void ExpressionReader::declare(const Token& name, Variable::Kind kind, Value value, std::uint32_t parameter) {
  if (name.kind != Token::Kind::kName || type_named(name.text)) {
    throw NotProven(name, "a name was expected; this is not followed");
  }
  value.lvalue = Value::Lvalue::kNone;
  value.when_true.clear();
  value.when_false.clear();
  if (is_assigned(variables_)) value.number.reset();
  if (!scopes_.declare(name.text, {kind, variables_++, std::move(value), parameter})) {
    throw NotProven(name, "this name is declared twice");
  }
}

Value ExpressionReader::expression() {
  Value value = conditional();
  if (!is_assignment(token())) return value;
  assign(value, token());
  skip();
  expression();
  return {};
}

void ExpressionReader::assign(const Value& to, const Token& at) {
  if (to.lvalue == Value::Lvalue::kNone) throw NotProven(at, "what is changed here is not followed");
  if (to.lvalue == Value::Lvalue::kVariable) assigned_.insert(to.lvalue_id);
  if (to.lvalue == Value::Lvalue::kAccess) {
    accesses_.parameters[accesses_.accesses[to.lvalue_id].parameter].is_written = true;
  }
}

Value ExpressionReader::conditional() {
  Value condition = binary(0);
  if (!accept("?")) return condition;
  {
    const Holding facts(arithmetic_.facts(), condition.when_true);
    expression();
  }
  expect(":");
  const Holding facts(arithmetic_.facts(), condition.when_false);
  conditional();
  return {};
}

Value ExpressionReader::binary(int level) {
  if (level == kLevels) return unary();
  Value left = binary(level + 1);
  while (token().kind == Token::Kind::kPunctuation && is_at_level(token().text, level)) {
    const std::string operation = token().text;
    skip();
    const std::vector<FactId> held = operation == "&&"   ? left.when_true
                                     : operation == "||" ? left.when_false
                                                         : std::vector<FactId>();
    const Holding facts(arithmetic_.facts(), held);
    const Value right = binary(level + 1);
    left = arithmetic_.binary(operation, left, right);
  }
  return left;
}

Value ExpressionReader::unary() {
  const Nesting nesting(*this);
  const Token at = token();
  if (at.is("*")) throw NotProven(at, "pointers are followed only where they have an index: write p[i]");
  if (at.is("&")) throw NotProven(at, "addresses are not followed");
  if (at.is("sizeof")) throw NotProven(at, "sizes of types are not followed");
  if (accept("++") || accept("--")) {
    assign(unary(), at);
    return {};
  }
  if (accept("-")) return arithmetic_.negated(unary());
  if (accept("+")) return arithmetic_.binary("+", arithmetic_.literal("0"), unary());
  if (accept("!")) {
    Value value = unary(), result;
    result.when_true = value.when_false;
    result.when_false = value.when_true;
    return result;
  }
  if (accept("~")) {
    unary();
    return {};
  }
  return at.is("(") ? cast_or_brackets() : postfix();
}

Value ExpressionReader::cast_or_brackets() {
  const Token at = token();
  skip();
  const std::optional<Type> type = accept_type();
  if (!type) {
    --at_;
    return postfix();
  }
  if (is("*")) throw NotProven(token(), "pointers are not followed when they are converted");
  expect(")");
  if (type->count == 1) return arithmetic_.converted(unary(), *type);
  if (!is("(")) {
    unary();
    return {};
  }
  skip();
  do {
    expression();
  } while (accept(","));
  expect(")");
  while (accept(".")) skip();  // components
  return {};
}

Value ExpressionReader::postfix() {
  Value value = primary();
  for (;;) {
    const Token at = token();
    if (accept(".")) {
      if (token().kind != Token::Kind::kName) throw NotProven(token(), "this is not followed");
      skip();
      value.number.reset();
      value.when_true.clear();
      value.when_false.clear();
    } else if (accept("++") || accept("--")) {
      assign(value, at);
      value = {};
    } else if (at.is("[") || at.is("(") || at.is("->")) {
      throw NotProven(at, "this is not followed");
    } else {
      return value;
    }
  }
}

Value ExpressionReader::primary() {
  const Token at = token();
  switch (at.kind) {
    case Token::Kind::kInteger:
      skip();
      return arithmetic_.literal(at.text);
    case Token::Kind::kFloating:
      skip();
      return {};
    case Token::Kind::kMacro:
      throw NotProven(at, "this macro is not followed; only macros that stand for one number or name are");
    case Token::Kind::kName:
      return named();
    default:
      break;
  }
  expect("(");
  Value value = expression();
  expect(")");
  return value;
}

Value ExpressionReader::named() {
  const Token name = token();
  skip();
  const Variable* const variable = scopes_.find(name.text);
  if (variable == nullptr) {
    if (text_.declared.contains(name.text)) {
      throw NotProven(name, is("(") ? "the program's own functions are not followed"
                                    : "variables outside of the kernel are not followed");
    }
    if (accept("(")) return call(name);
    if (!is_constant(name.text)) throw NotProven(name, why_not(name.text));
    return {};
  }
  if (variable->kind == Variable::Kind::kPointer) return access(name, *variable);
  if (variable->kind == Variable::Kind::kArray) return element(name);
  Value value = variable->value;
  value.lvalue = Value::Lvalue::kVariable;
  value.lvalue_id = variable->id;
  return value;
}

Value ExpressionReader::call(const Token& name) {
  const bool is_id = name.text == "get_global_id";
  if (!is_id && name.text != "get_work_dim" && !is_pure_function(name.text)) throw NotProven(name, why_not(name.text));
  std::vector<Value> arguments;
  if (!is(")")) {
    do {
      arguments.push_back(expression());
    } while (accept(","));
  }
  expect(")");
  if (!is_id) return {};
  const auto dimension = arguments.size() == 1 && arguments[0].number ? arguments[0].number->as_number() : std::nullopt;
  if (!dimension || *dimension < 0 || *dimension > 2) throw NotProven(name, "its dimension has to be 0, 1 or 2");
  return arithmetic_.symbol(static_cast<Symbol>(*dimension), *type_named("size_t"));
}

Value ExpressionReader::access(const Token& name, const Variable& pointer) {
  if (!is("[")) throw NotProven(name, "pointers are followed only where they have an index: write p[i]");
  skip();
  const Value index = expression();
  expect("]");
  Value value;
  value.lvalue = Value::Lvalue::kAccess;
  value.lvalue_id = accesses_.accesses.size();
  accesses_.accesses.push_back({pointer.parameter, index.number, index.duties, arithmetic_.facts(), name.line});
  return value;
}

Value ExpressionReader::element(const Token& name) {
  if (!is("[")) throw NotProven(name, "arrays are followed only where they have an index");
  while (accept("[")) {
    expression();
    expect("]");
  }
  Value value;
  value.lvalue = Value::Lvalue::kElement;
  return value;
}

}  // namespace remotecl::proof
