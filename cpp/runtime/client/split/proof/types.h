#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/client/split/proof/polynomial.h"

namespace remotecl::proof {

// A scalar or vector of OpenCL C.
struct Type {
  enum class Kind { kInteger, kFloating };

  Kind kind = Kind::kInteger;
  bool is_signed = true;
  std::uint32_t bytes = 4;    // of a component
  std::uint32_t count = 1;    // of components
  bool is_fixed_size = true;  // the same on all devices

  std::uint32_t size() const { return bytes * (count == 3 ? 4 : count); }
  bool is_integer() const { return kind == Kind::kInteger && count == 1; }
  // Of an integer of 4 or 8 bytes, as far as Interval goes.
  Interval values() const;
  friend bool operator==(const Type&, const Type&) = default;
};

// Of one word: "float4", "uint", "size_t". nullopt: it is no type that is known.
std::optional<Type> type_named(const std::string& word);
// What arithmetic makes of two integers (C99 6.3.1.8).
Type common_type(Type a, Type b);

}  // namespace remotecl::proof
