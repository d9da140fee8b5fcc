#include "runtime/client/split/proof/arithmetic.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace remotecl::proof {
namespace {

constexpr Type kInt{};

bool is_comparison(const std::string& operation) {
  return operation == "<" || operation == ">" || operation == "<=" || operation == ">=" || operation == "==" ||
         operation == "!=";
}

// The result for two numbers that are not negative; nullopt if C leaves it open, or the operation is not followed.
std::optional<std::int64_t> folded(const std::string& operation, std::int64_t left, std::int64_t right) {
  if (left < 0 || right < 0) return std::nullopt;
  if (operation == "/" && right != 0) return left / right;
  if (operation == "%" && right != 0) return left % right;
  if (operation == ">>" && right < 31) return left >> right;
  if (operation == "&") return left & right;
  if (operation == "|") return left | right;
  return std::nullopt;
}

}  // namespace

std::vector<DutyId> united(std::vector<DutyId> a, const std::vector<DutyId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::ranges::sort(a);
  a.erase(std::unique(a.begin(), a.end()), a.end());
  return a;
}

Value Arithmetic::symbol(Symbol symbol, Type type) const {
  Value value;
  value.type = type;
  value.number = Polynomial::symbol(symbol);
  return value;
}

Value Arithmetic::literal(const std::string& text) const {
  const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const bool is_octal = !is_hexadecimal && text.size() > 1 && text[0] == '0' && std::isdigit(text[1]) != 0;
  const std::size_t begin = is_hexadecimal ? 2 : 0;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), number,
                                            is_hexadecimal ? 16
                                            : is_octal     ? 8
                                                           : 10);
  std::string suffix(end, text.data() + text.size());
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (error != std::errc() || end == text.data() + begin) return unknown();
  const bool is_unsigned = suffix == "u" || suffix == "ul" || suffix == "lu";
  if (!is_unsigned && !suffix.empty() && suffix != "l") return unknown();
  Value value;
  value.number = Polynomial::number(number);
  value.type.is_signed = !is_unsigned;
  value.type.bytes = suffix.size() > (is_unsigned ? 1u : 0u) || number > value.type.values().high ? 8 : 4;
  // A hexadecimal literal that does not fit an int may be unsigned, so it is not followed. A smaller one fits either
  // type.
  return is_hexadecimal && value.type.bytes == 8 && suffix.empty() ? unknown() : value;
}

Value Arithmetic::fitting(std::optional<Polynomial> number, Type type, std::vector<DutyId> duties) {
  if (!number) return unknown();
  Value value;
  value.type = type;
  value.duties = std::move(duties);
  const Interval fits = type.values();
  if (const auto known = number->as_number(); known && (*known < fits.low || *known > fits.high)) return unknown();
  if (!number->as_number()) {
    value.duties = united(std::move(value.duties), {static_cast<DutyId>(accesses_.duties.size())});
    accesses_.duties.push_back({*number, fits, facts_});
  }
  value.number = std::move(number);
  return value;
}

Value Arithmetic::converted(Value value, Type type) {
  value.lvalue = Value::Lvalue::kNone;
  if (!value.number || !type.is_integer() || type.bytes < 4) return unknown();
  const Interval from = value.type.values(), to = type.values();
  if (from.low >= to.low && from.high <= to.high) {
    value.type = type;
    return value;
  }
  return fitting(std::move(value.number), type, std::move(value.duties));
}

Value Arithmetic::negated(const Value& value) { return binary("-", literal("0"), value); }

Value Arithmetic::binary(const std::string& operation, const Value& left, const Value& right) {
  if (operation == "&&" || operation == "||") {
    Value both;
    if (operation == "&&") both.when_true = united(left.when_true, right.when_true);
    if (operation == "||") both.when_false = united(left.when_false, right.when_false);
    return both;
  }
  if (!left.number || !right.number) return unknown();
  if (is_comparison(operation)) return compared(operation, left, right);
  const bool shifts = operation == "<<" || operation == ">>";
  const Type type = common_type(left.type, shifts ? kInt : right.type);
  const Value a = converted(left, type), b = shifts ? right : converted(right, type);
  if (!a.number || !b.number) return unknown();
  std::vector<DutyId> duties = united(a.duties, b.duties);
  const auto left_number = a.number->as_number(), right_number = b.number->as_number();
  std::optional<Polynomial> result;
  if (operation == "+") {
    result = Polynomial::sum(*a.number, *b.number);
  } else if (operation == "-") {
    result = Polynomial::difference(*a.number, *b.number);
  } else if (operation == "*") {
    result = Polynomial::product(*a.number, *b.number);
  } else if (operation == "<<" && right_number && *right_number >= 0 && *right_number < 31) {
    result = Polynomial::product(*a.number, Polynomial::number(std::int64_t{1} << *right_number));
  } else if (left_number && right_number) {
    const auto number = folded(operation, *left_number, *right_number);
    if (number) result = Polynomial::number(*number);
  }
  return fitting(std::move(result), type, std::move(duties));
}

Value Arithmetic::compared(const std::string& operation, const Value& left, const Value& right) {
  const Type type = common_type(left.type, right.type);
  const Value a = converted(left, type), b = converted(right, type);
  Value result;
  if (!a.number || !b.number) return result;
  const std::vector<DutyId> duties = united(a.duties, b.duties);
  const Polynomial &l = *a.number, &r = *b.number;
  if (operation == "<" || operation == ">=") {
    result.when_true = at_most(l, r, 1, duties);
    result.when_false = at_most(r, l, 0, duties);
    if (operation == ">=") result.when_true.swap(result.when_false);
  } else if (operation == ">" || operation == "<=") {
    result.when_true = at_most(r, l, 1, duties);
    result.when_false = at_most(l, r, 0, duties);
    if (operation == "<=") result.when_true.swap(result.when_false);
  } else {
    result.when_true = united(at_most(l, r, 0, duties), at_most(r, l, 0, duties));
    if (operation == "!=") result.when_true.swap(result.when_false);
  }
  return result;
}

std::vector<FactId> Arithmetic::at_most(const Polynomial& low, const Polynomial& high, std::int64_t margin,
                                        const std::vector<DutyId>& duties) {
  // low - high + margin <= 0, solved for each symbol that stands alone in it.
  std::vector<FactId> made;
  auto difference = Polynomial::difference(low, high);
  if (difference) difference = Polynomial::sum(*difference, Polynomial::number(margin));
  if (!difference) return made;
  for (const auto& [product, factor] : difference->products()) {
    if (product.size() != 1 || (factor != 1 && factor != -1)) continue;
    const Symbol symbol = product.front();
    if (accesses_.symbols[symbol].kind == SymbolOrigin::Kind::kArgument) continue;
    Polynomial rest = *difference;
    const auto alone = Polynomial::product(Polynomial::symbol(symbol), Polynomial::number(factor));
    const auto others = Polynomial::difference(rest, *alone);
    if (!others || others->has(symbol)) continue;
    // symbol <= -others, or symbol >= others
    const auto bound = factor == 1 ? Polynomial::difference({}, *others) : others;
    if (!bound) continue;
    made.push_back(static_cast<FactId>(accesses_.facts.size()));
    accesses_.facts.push_back({symbol, factor == 1, *bound, duties});
  }
  return made;
}

}  // namespace remotecl::proof
