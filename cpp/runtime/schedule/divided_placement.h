#pragma once

#include <string>
#include <vector>

#include "runtime/schedule/placement.h"

namespace remotecl::schedule {

// How a launch was divided, and why, in numbers.
struct DividedPlacement {
  Placement whole;               // that was the alternative
  std::vector<Placement> parts;  // none: the launch is better whole
  std::vector<double> shares;    // of the parts
  Seconds gather = 0;            // to bring what the parts write to the device of `whole`
  Time finish = 0;               // of the last part
};

// For people: "divided: 62 % on device 3, 38 % on device 1 (earliest finish): done in 12.1 ms, ...".
std::string explain(const DividedPlacement& placement);

}  // namespace remotecl::schedule
