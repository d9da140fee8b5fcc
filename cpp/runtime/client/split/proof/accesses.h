#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/client/split/proof/polynomial.h"
#include "runtime/client/split/proof/types.h"

// What a kernel's source says of the memory that a work-item touches, for launches of any size. Values.
namespace remotecl::proof {

using FactId = std::uint32_t;
using DutyId = std::uint32_t;

// The condition under which a value is what its polynomial says: no conversion and no arithmetic of C has truncated it.
struct Duty {
  Polynomial value;
  Interval fits;
  std::vector<FactId> facts;  // that hold there
};

// What a condition says of a symbol: it is at most `bound` (`is_upper`), or at least.
struct Fact {
  Symbol symbol;
  bool is_upper;
  Polynomial bound;
  std::vector<DutyId> duties;
};

struct SymbolOrigin {
  enum class Kind { kGlobalId, kArgument, kLoop };

  Kind kind;
  std::uint32_t index = 0;  // of the dimension or of the argument
  Polynomial low, high;     // of a loop; their duties are those of each value that uses the symbol
};

struct Parameter {
  std::string name;
  Type type;  // of the element behind a pointer
  bool is_pointer = false;
  bool is_written = false;
};

struct Access {
  std::uint32_t parameter;
  std::optional<Polynomial> index;  // nullopt: not known
  std::vector<DutyId> duties;
  std::vector<FactId> facts;
  int line;
};

struct Accesses {
  std::vector<Parameter> parameters;
  std::vector<SymbolOrigin> symbols;  // those of dimension 0 to 2 first; a loop's limits use earlier ones only
  std::vector<Fact> facts;
  std::vector<Duty> duties;
  std::vector<Access> accesses;
};

}  // namespace remotecl::proof
