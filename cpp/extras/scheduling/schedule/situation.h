#pragma once

#include <cstdint>
#include <span>

#include "extras/scheduling/schedule/cluster.h"
#include "extras/scheduling/schedule/device_queue.h"
#include "extras/scheduling/schedule/estimate.h"
#include "extras/scheduling/schedule/inputs.h"
#include "extras/scheduling/schedule/kernel.h"
#include "extras/scheduling/schedule/task.h"

namespace remotecl::schedule {

// The time that a kernel is taken to need on the fastest device while nothing has been measured at all.
inline constexpr Seconds kUnknown = 1e-3;

// All that a policy may look at to place one task. Made by the scheduler for one call.
struct Situation {
  Time now = 0;
  Time ready = 0;  // when the tasks before it are expected to end
  const Task& task;
  const Kernel& kernel;
  const Cluster& cluster;
  std::span<const DeviceQueue> queues;  // by device
  const Inputs& inputs;
  // The memory that the task uses, but no more than the largest device has that can run it: a task that fits nowhere
  // goes there, and the driver says what becomes of it.
  std::uint64_t bytes = 0;
  KernelTimes::Forecast forecast;

  // Whether the device is present and can run the kernel.
  bool is_able(DeviceId device) const {
    const Pace& pace = cluster.pace(device);
    return pace.is_present && (pace.builds || kernel.binaries.contains(device)) &&
           (task.only == kNoDevice || task.only == device);
  }
  // Any number, also one of no device.
  bool is_candidate(DeviceId device) const {
    return device < cluster.size() && is_able(device) && bytes <= cluster[device].memory_bytes;
  }
  // Calls f(device) for each device that the task may go to.
  template <class F>
  void for_each_candidate(F&& f) const {
    const bool all_fit = bytes <= cluster.memory_min();
    for (DeviceId device = 0; device < cluster.size(); ++device) {
      if (is_able(device) && (all_fit || bytes <= cluster[device].memory_bytes)) f(device);
    }
  }
  // kNoDevice if there is none.
  DeviceId first_candidate() const {
    for (DeviceId device = 0; device < cluster.size(); ++device) {
      if (is_candidate(device)) return device;
    }
    return kNoDevice;
  }

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

}  // namespace remotecl::schedule
