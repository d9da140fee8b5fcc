#include "runtime/client/split/proof/polynomial.h"

#include <algorithm>
#include <array>

namespace remotecl::proof {
namespace {

constexpr std::size_t kProductsMax = 64, kSymbolsMax = 8;

std::optional<Interval> product_of(const Interval& a, const Interval& b) {
  std::array<std::int64_t, 4> ends{};
  if (__builtin_mul_overflow(a.low, b.low, &ends[0]) || __builtin_mul_overflow(a.low, b.high, &ends[1]) ||
      __builtin_mul_overflow(a.high, b.low, &ends[2]) || __builtin_mul_overflow(a.high, b.high, &ends[3])) {
    return std::nullopt;
  }
  return Interval{std::ranges::min(ends), std::ranges::max(ends)};
}

}  // namespace

Polynomial Polynomial::number(std::int64_t value) {
  Polynomial result;
  if (value != 0) result.products_[{}] = value;
  return result;
}

Polynomial Polynomial::symbol(Symbol symbol) {
  Polynomial result;
  result.products_[{symbol}] = 1;
  return result;
}

std::optional<Polynomial> Polynomial::combination(const Polynomial& a, const Polynomial& b, std::int64_t factor) {
  Polynomial result = a;
  for (const auto& [product, coefficient] : b.products_) {
    std::int64_t change = 0;
    std::int64_t& at = result.products_[product];
    if (__builtin_mul_overflow(coefficient, factor, &change) || __builtin_add_overflow(at, change, &at)) {
      return std::nullopt;
    }
    if (at == 0) result.products_.erase(product);
  }
  if (result.products_.size() > kProductsMax) return std::nullopt;
  return result;
}

std::optional<Polynomial> Polynomial::sum(const Polynomial& a, const Polynomial& b) { return combination(a, b, 1); }

std::optional<Polynomial> Polynomial::difference(const Polynomial& a, const Polynomial& b) {
  return combination(a, b, -1);
}

std::optional<Polynomial> Polynomial::product(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (const auto& [left, left_factor] : a.products_) {
    for (const auto& [right, right_factor] : b.products_) {
      Product product = left;
      product.insert(product.end(), right.begin(), right.end());
      std::ranges::sort(product);
      std::int64_t factor = 0;
      if (product.size() > kSymbolsMax || __builtin_mul_overflow(left_factor, right_factor, &factor)) {
        return std::nullopt;
      }
      Polynomial one;
      one.products_[std::move(product)] = factor;
      const auto sum = combination(result, one, 1);
      if (!sum) return std::nullopt;
      result = *sum;
    }
  }
  return result;
}

std::optional<std::int64_t> Polynomial::as_number() const {
  if (products_.empty()) return 0;
  if (products_.size() > 1 || !products_.begin()->first.empty()) return std::nullopt;
  return products_.begin()->second;
}

bool Polynomial::has(Symbol symbol) const {
  return std::ranges::any_of(
      products_, [symbol](const auto& entry) { return std::ranges::find(entry.first, symbol) != entry.first.end(); });
}

Polynomial Polynomial::without(Symbol symbol) const {
  Polynomial result = *this;
  std::erase_if(result.products_,
                [symbol](const auto& entry) { return std::ranges::find(entry.first, symbol) != entry.first.end(); });
  return result;
}

std::optional<Polynomial> Polynomial::factor_of(Symbol symbol) const {
  Polynomial result;
  for (const auto& [product, coefficient] : products_) {
    const auto count = std::ranges::count(product, symbol);
    if (count == 0) continue;
    if (count > 1) return std::nullopt;
    Product rest = product;
    std::erase(rest, symbol);
    result.products_[std::move(rest)] = coefficient;
  }
  return result;
}

std::optional<Interval> Polynomial::range(std::span<const Interval> symbols) const {
  Interval sum{0, 0};
  for (const auto& [product, coefficient] : products_) {
    Interval all{coefficient, coefficient};
    for (const Symbol symbol : product) {
      const auto next = product_of(all, symbols[symbol]);
      if (!next) return std::nullopt;
      all = *next;
    }
    if (__builtin_add_overflow(sum.low, all.low, &sum.low) || __builtin_add_overflow(sum.high, all.high, &sum.high)) {
      return std::nullopt;
    }
  }
  return sum;
}

}  // namespace remotecl::proof
