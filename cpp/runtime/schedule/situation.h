#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "runtime/schedule/cluster.h"
#include "runtime/schedule/device_queue.h"
#include "runtime/schedule/estimate.h"
#include "runtime/schedule/inputs.h"
#include "runtime/schedule/kernel.h"
#include "runtime/schedule/load_bounds.h"
#include "runtime/schedule/task.h"

namespace remotecl::schedule {

// The time that a kernel is taken to need on the fastest device while nothing has been measured at all.
inline constexpr Seconds kUnknown = 1e-3;
// With fewer, looking at each is quicker than looking at groups first.
inline constexpr std::size_t kManyDevices = 64;

// All that a policy may look at to place one task. Made by the scheduler for one call.
struct Situation {
  Time now = 0;
  Time ready = 0;  // when the tasks before it are expected to end
  const Task& task;
  const Kernel& kernel;
  const Cluster& cluster;
  std::span<const DeviceQueue> queues;  // by device
  const LoadBounds& bounds;             // of these
  const Inputs& inputs;
  DeviceWords able;  // devices that are present and can run the kernel
  // The memory that the task uses, but no more than the largest device has that can run it: a task that fits nowhere
  // goes there, and the driver says what becomes of it.
  std::uint64_t bytes = 0;
  KernelTimes::Forecast forecast;

  // Calls f(device) for each device that the task may go to.
  template <class F>
  void for_each_candidate(F&& f) const {
    const bool all_fit = bytes <= cluster.memory_min();
    for_each_device_while(able, [&](DeviceId device) {
      if (all_fit || bytes <= cluster[device].memory_bytes) f(device);
      return true;
    });
  }
  // Calls f(device, seconds) for each candidate where the task may end before limit(), and maybe for others. `seconds`:
  // what the task needs there. f may lower the limit.
  template <class Limit, class F>
  void for_each_candidate_before(Limit&& limit, F&& f) const;
  // kNoDevice if there is none.
  DeviceId first_candidate() const {
    DeviceId first = kNoDevice;
    for_each_device_while(able, [&](DeviceId device) {
      if (bytes <= cluster[device].memory_bytes) first = device;
      return first == kNoDevice;
    });
    return first;
  }
  bool is_candidate(DeviceId device) const { return contains(able, device) && bytes <= cluster[device].memory_bytes; }

  struct Runtime {
    Seconds seconds;
    bool measured;
  };
  Runtime runtime(DeviceId device) const;
  // What a device that has not run the kernel probably needs.
  Seconds predicted(DeviceId device) const;
  Time free_at(DeviceId device) const { return queues[device].free_at(now); }
  // When the task would end there, if it runs for `seconds`.
  Time finish(DeviceId device, Seconds seconds) const;
  // All figures; for few devices.
  Estimate estimate(DeviceId device) const;

 private:
  // No device of the group needs less.
  Seconds least_seconds(GroupId group) const;
};

// Inline, because decisions ask them for each device.
inline Situation::Runtime Situation::runtime(DeviceId device) const {
  if (const Seconds measured = forecast.measured(device); measured > 0) return {measured, true};
  return {predicted(device) * kernel.exploration.factor(device), false};
}

inline Seconds Situation::predicted(DeviceId device) const {
  const Pace& pace = cluster.pace(device);
  const Seconds seconds = forecast.predicted(pace);
  return seconds > 0 ? seconds : kUnknown * cluster.speed_max() * pace.slowness;
}

inline Time Situation::finish(DeviceId device, Seconds seconds) const {
  return queues[device].end(now, ready + inputs.transfer(device), seconds);
}

inline Seconds Situation::least_seconds(GroupId group) const {
  const Pace& pace = cluster.groups()[group].pace;
  const Seconds measured = forecast.measured_least(group), like_others = forecast.predicted(pace);
  const Seconds predicted = (like_others > 0 ? like_others : kUnknown * cluster.speed_max() * pace.slowness) *
                            kernel.exploration.factor_min();
  return measured > 0 ? std::min(measured, predicted) : predicted;
}

template <class Limit, class F>
void Situation::for_each_candidate_before(Limit&& limit, F&& f) const {
  if (cluster.size() < kManyDevices) {
    return for_each_candidate([&](DeviceId device) { f(device, runtime(device).seconds); });
  }
  // A group's bound does not say how soon data is on devices near it. Mostly these are few, and looked at one by one.
  const bool is_far = device_count(inputs.near()) <= kManyDevices;
  if (is_far) {
    for_each_device_while(inputs.near(), [&](DeviceId device) {
      if (is_candidate(device)) f(device, runtime(device).seconds);
      return true;
    });
  }
  const Time earliest = ready + (is_far ? inputs.least_transfer_of_far() : 0);
  const DeviceGroups& groups = cluster.groups();
  const auto open = [&](GroupId group, Seconds least) {
    std::size_t position = group * DeviceGroups::kSize;
    for (const DeviceId device : groups[group].devices) {
      const LoadBound& bound = bounds.at_position(position++);
      // Asks the bounds first, because they lie side by side in memory.
      if (bound.finish(earliest, least) >= limit() || (is_far && inputs.is_near(device))) continue;
      const Seconds seconds = runtime(device).seconds;
      if (bound.finish(earliest, seconds) < limit() && is_candidate(device)) f(device, seconds);
    }
  };
  // The most promising group comes first, because it lowers the limit most.
  GroupId first = 0;
  Time soonest = std::numeric_limits<Time>::infinity();
  for (GroupId group = 0; group < groups.size(); ++group) {
    const Time bound = bounds.of_group(group).finish(earliest, least_seconds(group));
    if (bound >= soonest) continue;
    soonest = bound;
    first = group;
  }
  if (soonest < limit()) open(first, least_seconds(first));
  for (GroupId group = 0; group < groups.size(); ++group) {
    const Seconds least = least_seconds(group);
    if (group != first && bounds.of_group(group).finish(earliest, least) < limit()) open(group, least);
  }
}

}  // namespace remotecl::schedule
