#pragma once

#include <optional>
#include <vector>

#include "runtime/client/split/proof/accesses.h"
#include "runtime/client/split/proof/proof.h"

namespace remotecl::proof {

// Where the numbers of a kernel lie in one launch.
class LaunchRanges {
 public:
  LaunchRanges(const Accesses& accesses, const Launch& launch);

  // Whether all of these hold in the launch.
  bool hold(const std::vector<DutyId>& duties);
  // The interval of each symbol where these facts hold.
  std::vector<Interval> symbols(const std::vector<FactId>& facts);
  // Whether nothing happens there, because a symbol of the facts or of the value has no value.
  bool is_unreachable(const std::vector<Interval>& symbols, const std::vector<FactId>& facts, const Polynomial& value);

 private:
  bool holds(DutyId duty);
  Interval base(Symbol symbol, const std::vector<Interval>& before);

  const Accesses& accesses_;
  const Launch& launch_;
  std::vector<std::optional<bool>> duties_;
};

}  // namespace remotecl::proof
