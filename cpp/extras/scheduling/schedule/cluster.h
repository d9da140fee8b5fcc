#pragma once

#include <cstddef>
#include <vector>

#include "extras/scheduling/schedule/device.h"
#include "extras/scheduling/schedule/network.h"

namespace remotecl::schedule {

// The devices and the links between their servers.
class Cluster {
 public:
  DeviceId add(const Device& device);
  // A device may be lost, and return.
  void set_present(DeviceId device, bool present) { paces_[device].is_present = present; }

  std::size_t size() const { return paces_.size(); }  // lost ones, too
  const Device& operator[](DeviceId device) const { return devices_[device]; }
  const Pace& pace(DeviceId device) const { return paces_[device]; }
  double speed_max() const { return speed_max_; }
  std::uint64_t memory_min() const { return memory_min_; }

  Network& network() { return network_; }
  const Network& network() const { return network_; }

 private:
  std::vector<Device> devices_;
  std::vector<Pace> paces_;  // by device
  double speed_max_ = 0;
  std::uint64_t memory_min_ = UINT64_MAX;
  Network network_;
};

}  // namespace remotecl::schedule
