#include "runtime/schedule/earliest_of_many.h"

namespace remotecl::schedule {

Choice earliest_of_many(const Situation& situation, BestTwo best) {
  const DeviceId offered = best.choice().device;
  // With so many devices, only the best is sought. The runner-up is a good one, but not always the second best.
  const auto limit = [&] { return best.score(); };
  situation.for_each_candidate_before(limit, [&](DeviceId device, Seconds seconds) {
    const Time earliest = situation.ready + situation.inputs.least_transfer(device);
    if (earliest + seconds >= best.score() || device == offered) return;
    if (situation.queues[device].end(situation.now, earliest, seconds) >= best.score()) return;
    best.offer(device, situation.finish(device, seconds));
  });
  return best.choice();
}

}  // namespace remotecl::schedule
