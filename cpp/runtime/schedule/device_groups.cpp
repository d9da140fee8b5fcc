#include "runtime/schedule/device_groups.h"

#include <algorithm>
#include <cmath>

namespace remotecl::schedule {

GroupId DeviceGroups::add(const Device& device) {
  constexpr double kStep = 1.1;
  const Pace pace = device.pace();
  const int speed_class = static_cast<int>(std::floor(std::log(device.speed) / std::log(kStep)));
  auto at = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
    return group.pace.type == pace.type && group.speed_class == speed_class && group.devices.size() < kSize;
  });
  if (at == groups_.end()) {
    at = groups_.insert(at, {pace, speed_class, {}});
    at->devices.reserve(kSize);
  }
  const auto group = static_cast<std::size_t>(at - groups_.begin());
  positions_.push_back(group * kSize + at->devices.size());
  at->pace.slowness = std::min(at->pace.slowness, pace.slowness);
  at->devices.push_back(static_cast<DeviceId>(positions_.size() - 1));
  return static_cast<GroupId>(group);
}

}  // namespace remotecl::schedule
