#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/client/split/proof/accesses.h"

namespace remotecl::proof {

// What is known of an expression. A value.
struct Value {
  enum class Lvalue { kNone, kVariable, kAccess, kElement };

  Type type;                         // of a number
  std::optional<Polynomial> number;  // nullopt: not known
  std::vector<DutyId> duties;        // of the number
  std::vector<FactId> when_true, when_false;
  Lvalue lvalue = Lvalue::kNone;  // what it names, if it may be assigned to
  std::size_t lvalue_id = 0;      // of the variable or access
};

struct Variable {
  enum class Kind { kScalar, kArray, kPointer };

  Kind kind = Kind::kScalar;
  std::size_t id = 0;           // in the order of declarations
  Value value;                  // if it is never assigned to
  std::uint32_t parameter = 0;  // of a pointer
};

// The names of a kernel, from the innermost block outwards.
class Scopes {
 public:
  void enter() { blocks_.emplace_back(); }
  void leave() { blocks_.pop_back(); }
  // False: the block has it already.
  bool declare(const std::string& name, Variable variable) {
    return blocks_.back().emplace(name, std::move(variable)).second;
  }
  // Says what a variable of the innermost block is from now on.
  void replace(const std::string& name, Value value) {
    if (const auto found = blocks_.back().find(name); found != blocks_.back().end()) {
      found->second.value = std::move(value);
    }
  }
  const Variable* find(const std::string& name) const {
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
      if (const auto found = block->find(name); found != block->end()) return &found->second;
    }
    return nullptr;
  }

 private:
  std::vector<std::map<std::string, Variable>> blocks_;
};

}  // namespace remotecl::proof
