#pragma once

#include <string>
#include <vector>

#include "runtime/client/split/proof/scopes.h"

namespace remotecl::proof {

// Arithmetic on what is known of numbers. Adds the conditions of its results (Duty) and what comparisons say (Fact) to
// `accesses`.
class Arithmetic {
 public:
  explicit Arithmetic(Accesses& accesses) : accesses_(accesses) {}

  // Facts that hold where the reader is.
  std::vector<FactId>& facts() { return facts_; }

  static Value unknown() { return {}; }
  Value symbol(Symbol symbol, Type type) const;
  Value literal(const std::string& text) const;
  // `operation`: one of C, between two operands.
  Value binary(const std::string& operation, const Value& left, const Value& right);
  Value negated(const Value& value);
  Value converted(Value value, Type type);

 private:
  // The number, with a duty unless it certainly fits.
  Value fitting(std::optional<Polynomial> number, Type type, std::vector<DutyId> duties);
  Value compared(const std::string& operation, const Value& left, const Value& right);
  // Facts of: low + margin <= high.
  std::vector<FactId> at_most(const Polynomial& low, const Polynomial& high, std::int64_t margin,
                              const std::vector<DutyId>& duties);

  Accesses& accesses_;
  std::vector<FactId> facts_;
};

// Both, without duplicates.
std::vector<DutyId> united(std::vector<DutyId> a, const std::vector<DutyId>& b);

}  // namespace remotecl::proof
