#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "runtime/schedule/device_groups.h"

namespace remotecl::schedule {

// A bound that a DeviceQueue gives until its next change: a new task ends no earlier than finish().
struct LoadBound {
  Time free = 0;            // until then the device has our tasks
  Time drained = 0;         // when the device could have done all that others had enqueued
  double others_ratio = 0;  // of their weight to ours

  Time finish(Time ready, Seconds seconds) const {
    const Time begin = std::max(ready, free);
    return seconds + std::min(std::max(begin, drained), begin + seconds * others_ratio);
  }
  // A bound that holds for both.
  LoadBound least(const LoadBound& other) const {
    return {std::min(free, other.free), std::min(drained, other.drained), std::min(others_ratio, other.others_ratio)};
  }
};

// The bounds of all devices, a group's side by side, and of the groups.
class LoadBounds {
 public:
  // To be called before set() when there are more groups.
  void reserve(const DeviceGroups& groups);
  void set(const DeviceGroups& groups, DeviceId device, const LoadBound& bound);

  const LoadBound& at_position(std::size_t position) const { return devices_[position]; }
  const LoadBound& of_group(GroupId group) const { return groups_[group]; }

 private:
  std::vector<LoadBound> devices_;  // by DeviceGroups::position()
  std::vector<LoadBound> groups_;
};

}  // namespace remotecl::schedule
