#include "runtime/schedule/earliest_finish.h"

#include "runtime/schedule/best_two.h"
#include "runtime/schedule/earliest_of_many.h"

namespace remotecl::schedule {

Choice EarliestFinish::choose(const Situation& situation) {
  BestTwo best;
  // The device that holds the data is often the best; to offer it first spares computing most others' transfers.
  const DeviceId holder = situation.inputs.first_holder();
  if (holder != kNoDevice && situation.is_candidate(holder)) {
    best.offer(holder, situation.finish(holder, situation.runtime(holder).seconds));
  }
  if (situation.cluster.size() >= kManyDevices) return earliest_of_many(situation, best);
  situation.for_each_candidate([&](DeviceId device) {
    // From cheap bounds to the exact time, which few devices reach.
    const Seconds seconds = situation.runtime(device).seconds;
    if (situation.ready + seconds >= best.score() || device == holder) return;
    const Time earliest = situation.ready + situation.inputs.least_transfer(device);
    if (earliest + seconds >= best.score()) return;
    if (situation.queues[device].end(situation.now, earliest, seconds) >= best.score()) return;
    best.offer(device, situation.finish(device, seconds));
  });
  return best.choice();
}

}  // namespace remotecl::schedule
