#include "runtime/schedule/situation.h"

#include <algorithm>

namespace remotecl::schedule {
namespace {

// What a kernel that nothing has run yet is taken to need on the fastest device.
constexpr Seconds kUnknown = 1e-3;

}  // namespace

Situation::Runtime Situation::runtime(DeviceId device) const {
  if (const Seconds measured = forecast.measured(device); measured > 0) return {measured, true};
  const Device& there = cluster[device];
  const Seconds predicted = forecast.predicted(there);
  const Seconds taken = predicted > 0 ? predicted : kUnknown * cluster.speed_max() / there.speed;
  return {taken * kernel.exploration.factor(device), false};
}

Time Situation::finish_without_data(DeviceId device, Seconds seconds) const {
  return queues[device].end(now, ready, seconds, weight);
}

Time Situation::finish(DeviceId device, Seconds seconds) const {
  return queues[device].end(now, ready + inputs.transfer(device), seconds, weight);
}

Estimate Situation::estimate(DeviceId device) const {
  Estimate result;
  const Runtime time = runtime(device);
  result.free_at = free_at(device);
  result.transfer = inputs.transfer(device);
  result.seconds = time.seconds;
  result.finish = queues[device].end(now, ready + result.transfer, time.seconds, weight);
  result.bytes = inputs.bytes_missing(device);
  result.joules = time.seconds * cluster[device].watts;
  result.price = time.seconds * cluster[device].price_per_s;
  result.measured = time.measured;
  return result;
}

}  // namespace remotecl::schedule
