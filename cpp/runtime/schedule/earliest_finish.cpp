#include "runtime/schedule/earliest_finish.h"

#include "runtime/schedule/best_two.h"
#include "runtime/schedule/earliest_of_many.h"

namespace remotecl::schedule {
namespace {

// A device that would be tried if it had the data, once that may cost as much as moving it does; else the best.
Choice tried(const Situation& situation, const Choice& best) {
  if (best.device == kNoDevice) return best;
  const Situation::Runtime fastest = situation.runtime(best.device);
  if (!fastest.measured) return best;
  Choice choice = best;
  situation.for_each_candidate([&](DeviceId device) {
    const Situation::Runtime time = situation.runtime(device);
    if (choice.device != best.device || time.measured || time.seconds >= fastest.seconds) return;
    // If it proves slow, the data goes back.
    const Time finish = situation.finish(device, situation.predicted(device));
    const Seconds cost = finish + situation.inputs.transfer(device) - best.score;
    if (situation.kernel.exploration.affords(device, cost)) choice = {device, best.device, finish, best.score};
  });
  return choice;
}

}  // namespace

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
    if (situation.ready + seconds >= best.limit() || device == holder) return;
    const Time earliest = situation.ready + situation.inputs.least_transfer(device);
    if (earliest + seconds >= best.limit()) return;
    if (situation.queues[device].end(situation.now, earliest, seconds) >= best.limit()) return;
    best.offer(device, situation.finish(device, seconds));
  });
  return tried(situation, best.choice());
}

}  // namespace remotecl::schedule
