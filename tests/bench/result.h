#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cases.h"
#include "measure.h"

namespace remotecl::bench {

// A case's outcome in its unit. For rates, p99 and max are those of the slowest runs, hence the lowest.
struct Result {
  std::string name;
  std::string unit;
  bool lower_is_better = true;
  bool small = false;
  size_t repetitions = 0;
  PerSide<std::optional<Summary>> sides;
  std::optional<double> ceiling;
  std::optional<double> ratio;  // remotecl / ceiling
  std::optional<double> target;
  std::string target_rule;
  bool met = false;
};

Result make_result(const std::string& name, const Case& measured, const Samples& samples);

// The rule over all small cases: nothing takes longer than 10 ms. Nothing where no small case ran.
std::optional<Result> make_stall_result(const std::vector<Result>& results);

}  // namespace remotecl::bench
