#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace remotecl::proof {

// A number that stays the same while a work-item uses it: a global id, an argument, or the variable of a loop. An index
// into the symbols of a kernel.
using Symbol = std::uint32_t;

// Whole numbers from `low` to `high`; none if high < low.
struct Interval {
  std::int64_t low, high;

  bool is_empty() const { return high < low; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

// A sum of products of symbols, over the whole numbers. A value.
class Polynomial {
 public:
  using Product = std::vector<Symbol>;  // sorted; empty: 1

  Polynomial() = default;  // 0
  static Polynomial number(std::int64_t value);
  static Polynomial symbol(Symbol symbol);

  // nullopt: the numbers or the polynomial become too large.
  static std::optional<Polynomial> sum(const Polynomial& a, const Polynomial& b);
  static std::optional<Polynomial> difference(const Polynomial& a, const Polynomial& b);
  static std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b);

  std::optional<std::int64_t> as_number() const;
  bool has(Symbol symbol) const;
  // The value without the products that contain the symbol.
  Polynomial without(Symbol symbol) const;
  // By what the symbol is multiplied. nullopt if the polynomial is not linear in it.
  std::optional<Polynomial> factor_of(Symbol symbol) const;

  // Where its value lies if each symbol lies in its interval, none of which is empty. nullopt if the numbers become too
  // large.
  std::optional<Interval> range(std::span<const Interval> symbols) const;

  const std::map<Product, std::int64_t>& products() const { return products_; }

 private:
  static std::optional<Polynomial> combination(const Polynomial& a, const Polynomial& b, std::int64_t factor);

  std::map<Product, std::int64_t> products_;  // with their coefficients, none of which is 0
};

}  // namespace remotecl::proof
