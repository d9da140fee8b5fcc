#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/client/split/proof/polynomial.h"

// Whether a kernel may be divided along a dimension of its range, by its source. Pure: no threads, sockets, or state.
namespace remotecl::proof {

struct Accesses;

// Which bytes of an argument a work-item touches, as remotecl::Slice says it.
struct Part {
  std::uint32_t argument = 0;
  bool is_written = false;
  bool is_whole = false;  // read anywhere
  std::uint64_t item_bytes = 0, before = 0, after = 0;
};

struct Launch {
  std::uint32_t dimension = 0;                // that is divided
  std::vector<std::uint64_t> offset, global;  // three of each
  // By argument: the value of a scalar integer; nullopt for any other, and for what an int64_t does not hold.
  std::vector<std::optional<std::int64_t>> values;
};

struct Verdict {
  std::vector<Part> parts;  // for each pointer
  std::string why_not;      // if not empty, nothing is proven
};

// What a scalar argument is, for those who know its bytes.
struct ScalarArgument {
  bool is_integer = false, is_signed = false;
  std::uint32_t bytes = 0;
};

// A kernel that has been read. A value; may be shared.
class Proof {
 public:
  // `options`: of the build.
  Proof(const std::string& source, const std::string& options, const std::string& kernel);

  // Empty, or why the kernel is not followed.
  const std::string& why_not() const { return why_not_; }
  std::vector<ScalarArgument> arguments() const;
  Verdict divide(const Launch& launch) const;

 private:
  std::shared_ptr<const Accesses> accesses_;  // null: not followed
  std::string why_not_;
};

}  // namespace remotecl::proof
