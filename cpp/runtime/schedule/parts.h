#pragma once

#include <functional>
#include <vector>

#include "runtime/schedule/ids.h"

namespace remotecl::schedule {

// A kernel that takes less on its best device is not divided: messages and launches would cost more than that saves.
inline constexpr Seconds kDivisible = 5e-3;

// The share of a launch that one device gets. The shares of a launch add up to 1.
struct Part {
  DeviceId device = kNoDevice;
  double share = 0;
};

// A device that may get a part of a launch.
struct Worker {
  DeviceId device = kNoDevice;
  Time start = 0;  // when it is free
};
// How long a device needs for a share.
using PartTimes = std::function<Seconds(DeviceId device, double share)>;

// Shares with which all devices end at the same time. A device that is free too late gets none, and no share is so
// small that a launch of its own is not worth while. If the data is in place, this is the optimal division of a
// divisible load (Bharadwaj, Ghose, Mani, Robertazzi 1996).
std::vector<Part> balanced_parts(std::vector<Worker> workers, const PartTimes& seconds);
// The latest of their ends; infinite if one of the devices is not among the workers.
Time last_end(const std::vector<Part>& parts, const std::vector<Worker>& workers, const PartTimes& seconds);

}  // namespace remotecl::schedule
