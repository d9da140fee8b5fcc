#include "extras/scheduling/schedule/earliest_finish.h"

#include "extras/scheduling/schedule/best_two.h"

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
  bool is_all_measured = true;
  DeviceId passed_over = kNoDevice;
  situation.for_each_candidate([&](DeviceId device) {
    // From cheap bounds to the exact time, which few devices reach.
    const auto [seconds, is_measured] = situation.runtime(device);
    is_all_measured = is_all_measured && is_measured;
    if (device == holder) return;
    passed_over = device;
    if (situation.ready + seconds >= best.score()) return;
    const Time earliest = situation.ready + situation.inputs.least_transfer(device);
    if (earliest + seconds >= best.score()) return;
    if (situation.queues[device].end(situation.now, earliest, seconds) >= best.score()) return;
    best.offer(device, situation.finish(device, seconds));
  });
  // For people, who ask what was the alternative.
  if (best.choice().runner_up == kNoDevice && passed_over != kNoDevice && passed_over != best.choice().device) {
    best.offer(passed_over, situation.finish(passed_over, situation.runtime(passed_over).seconds));
  }
  return is_all_measured ? best.choice() : tried(situation, best.choice());
}

}  // namespace remotecl::schedule
