#pragma once

#include <cstdint>
#include <vector>

#include "extras/scheduling/schedule/device.h"
#include "extras/scheduling/schedule/network.h"

namespace remotecl::schedule {

// A made-up cluster and a day of its users' work; the same again for the same seed.
struct TraceOptions {
  std::uint32_t seed = 1;
  std::size_t devices = 64;
  std::size_t users = 24;
  std::size_t jobs = 1000;
  // All work, next to what the devices could do in the day at best. At noon it is twice as much as on average.
  double load = 0.4;
};

struct TraceTask {
  std::uint32_t kernel = 0;  // of Trace::kernels
  double size = 0;
  std::vector<std::uint32_t> after;  // of the same job; their outputs are its inputs
};

struct TraceJob {
  std::uint32_t user = 0;
  Time arrival = 0;
  std::uint64_t bytes = 0;  // of its data, and of each task's output
  std::vector<TraceTask> tasks;
};

struct Trace {
  static constexpr Seconds kDay = 86'400;

  std::vector<Link> access;                           // by server
  std::vector<Device> devices;                        // what their servers say; Device::server counts from 0
  std::vector<double> weights;                        // by user
  std::vector<std::vector<double>> seconds_per_item;  // by kernel and device; 0: it cannot run it
  std::vector<TraceJob> jobs;                         // by arrival

  std::size_t tasks() const;
  Seconds seconds(const TraceTask& task, DeviceId device) const;
  // On the device that suits it best.
  Seconds least_seconds(const TraceTask& task) const;
  // If the job were alone, with devices that suit each task best.
  Seconds critical_path(const TraceJob& job) const;
};

Trace make_trace(const TraceOptions& options);

}  // namespace remotecl::schedule
