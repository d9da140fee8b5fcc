#pragma once

#include <cstdint>
#include <span>

#include "runtime/schedule/cluster.h"
#include "runtime/schedule/device_queue.h"
#include "runtime/schedule/estimate.h"
#include "runtime/schedule/inputs.h"
#include "runtime/schedule/kernel.h"
#include "runtime/schedule/task.h"

namespace remotecl::schedule {

// What a kernel is taken to need on the fastest device while nothing was measured at all.
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
  DeviceWords able;         // devices that are present and can run the kernel
  std::uint64_t bytes = 0;  // of memory that the task uses
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
  bool is_candidate(DeviceId device) const { return contains(able, device) && bytes <= cluster[device].memory_bytes; }

  struct Runtime {
    Seconds seconds;
    bool measured;
  };
  Runtime runtime(DeviceId device) const;
  Time free_at(DeviceId device) const { return queues[device].free_at(now); }
  // When the task would end there, if it runs for `seconds`.
  Time finish(DeviceId device, Seconds seconds) const;
  // All figures; for few devices.
  Estimate estimate(DeviceId device) const;
};

// Inline, because decisions ask them for each device.
inline Situation::Runtime Situation::runtime(DeviceId device) const {
  if (const Seconds measured = forecast.measured(device); measured > 0) return {measured, true};
  const Pace& pace = cluster.pace(device);
  const Seconds predicted = forecast.predicted(pace);
  const Seconds taken = predicted > 0 ? predicted : kUnknown * cluster.speed_max() * pace.slowness;
  return {taken * kernel.exploration.factor(device), false};
}

inline Time Situation::finish(DeviceId device, Seconds seconds) const {
  return queues[device].end(now, ready + inputs.transfer(device), seconds);
}

}  // namespace remotecl::schedule
