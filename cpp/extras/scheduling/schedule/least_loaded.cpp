#include "extras/scheduling/schedule/least_loaded.h"

#include "extras/scheduling/schedule/best_two.h"

namespace remotecl::schedule {

Choice LeastLoaded::choose(const Situation& situation) {
  // Shorter than any kernel, so that speed decides only among devices that are free.
  constexpr Seconds kTie = 1e-9;
  BestTwo best;
  situation.for_each_candidate([&](DeviceId device) {
    const double slowness = situation.cluster.speed_max() / situation.cluster[device].speed;
    best.offer(device, situation.free_at(device) - situation.now + kTie * slowness);
  });
  return best.choice();
}

}  // namespace remotecl::schedule
