#include "runtime/schedule/divided_placement.h"

#include <cmath>

#include "runtime/schedule/in_units.h"

namespace remotecl::schedule {

std::string explain(const DividedPlacement& placement) {
  const Placement& whole = placement.whole;
  std::string text = "divided:";
  for (std::size_t at = 0; at < placement.parts.size(); ++at) {
    const Placement& part = placement.parts[at];
    text += (at == 0 ? " " : ", ") + std::to_string(std::lround(100 * placement.shares[at])) + " % on device " +
            std::to_string(part.device) + " in " + in_units(part.estimate.finish - whole.now);
  }
  text += " (" + whole.policy->name + ": " + whole.policy->reason + "): done in " +
          in_units(placement.finish - whole.now) + ", then " + in_units(placement.gather) + " to bring it together";
  if (whole.ready > whole.now) text += ", waits " + in_units(whole.ready - whole.now) + " for others";
  return text + "; whole on device " + std::to_string(whole.device) + " " + in_units(whole.estimate.finish - whole.now);
}

}  // namespace remotecl::schedule
