#include "extras/scheduling/schedule/round_robin.h"

namespace remotecl::schedule {

Choice RoundRobin::choose(const Situation& situation) {
  const auto count = static_cast<DeviceId>(situation.cluster.size());
  for (DeviceId tried = 0; tried < count; ++tried) {
    const DeviceId device = next_ < count ? next_ : 0;
    next_ = device + 1;
    if (situation.is_candidate(device)) return {.device = device};
  }
  return {};
}

}  // namespace remotecl::schedule
