#include "runtime/schedule/earliest_finish.h"

#include "runtime/schedule/best_two.h"

namespace remotecl::schedule {

Choice EarliestFinish::choose(const Situation& situation) {
  BestTwo best;
  const auto look_at = [&](DeviceId device) {
    const Seconds seconds = situation.runtime(device).seconds;
    // Transfers are the costly part. They can only make the end later.
    if (situation.finish_without_data(device, seconds) < best.second()) {
      best.offer(device, situation.finish(device, seconds));
    }
  };
  // Where the data is, is often the best place; to know it early spares most others' transfers.
  const DeviceId holder = situation.inputs.first_holder();
  if (holder != kNoDevice && situation.is_candidate(holder)) look_at(holder);
  situation.for_each_candidate([&](DeviceId device) {
    if (device != holder) look_at(device);
  });
  return best.choice();
}

}  // namespace remotecl::schedule
