#include "runtime/schedule/least_cost.h"

#include <cmath>
#include <limits>

#include "runtime/schedule/best_two.h"
#include "runtime/schedule/earliest_finish.h"

namespace remotecl::schedule {

Choice LeastCost::choose(const Situation& situation) {
  const DeviceId first = EarliestFinish().choose(situation).device;
  if (first == kNoDevice) return {};
  const Time earliest = situation.finish(first, situation.runtime(first).seconds);
  const Time latest = situation.now + patience_ * (earliest - situation.now);

  const auto cost = [&](DeviceId device, Seconds seconds) { return seconds * cost_per_s(situation.cluster[device]); };
  const Time limit = std::nextafter(latest, std::numeric_limits<Time>::infinity());
  BestTwo best;
  // The first of equal costs stays.
  best.offer(first, cost(first, situation.runtime(first).seconds));
  const auto in_time = [&] { return limit; };
  situation.for_each_candidate_before(in_time, [&](DeviceId device, Seconds seconds) {
    const double price = cost(device, seconds);
    if (device == first || price >= best.score()) return;
    if (situation.ready + seconds + situation.inputs.least_transfer(device) > latest) return;
    if (situation.finish(device, seconds) <= latest) best.offer(device, price);
  });
  return best.choice();
}

}  // namespace remotecl::schedule
