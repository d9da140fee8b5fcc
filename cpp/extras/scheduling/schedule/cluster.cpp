#include "extras/scheduling/schedule/cluster.h"

#include <algorithm>
#include <cmath>

namespace remotecl::schedule {
namespace {

// A server may say anything of its devices.
double checked(double figure) { return figure >= 0 && std::isfinite(figure) ? figure : 1; }

}  // namespace

DeviceId Cluster::add(const Device& device) {
  const auto id = static_cast<DeviceId>(devices_.size());
  Device& added = devices_.emplace_back(device);
  added.speed = device.speed > 0 ? checked(device.speed) : 1;
  paces_.push_back(added.pace());
  speed_max_ = std::max(speed_max_, added.speed);
  memory_min_ = std::min(memory_min_, added.memory_bytes);
  return id;
}

}  // namespace remotecl::schedule
