#include "runtime/schedule/load_bounds.h"

namespace remotecl::schedule {

void LoadBounds::reserve(const DeviceGroups& groups) {
  groups_.resize(groups.size());
  devices_.resize(groups.size() * DeviceGroups::kSize);
}

void LoadBounds::set(const DeviceGroups& groups, DeviceId device, const LoadBound& bound) {
  const std::size_t position = groups.position(device), group = position / DeviceGroups::kSize;
  devices_[position] = bound;
  const std::size_t begin = group * DeviceGroups::kSize;
  LoadBound least = devices_[begin];
  for (std::size_t at = 1; at < groups[static_cast<GroupId>(group)].devices.size(); ++at) {
    least = least.least(devices_[begin + at]);
  }
  groups_[group] = least;
}

}  // namespace remotecl::schedule
