#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/base/index_set.h"
#include "runtime/schedule/device.h"
#include "runtime/schedule/device_groups.h"
#include "runtime/schedule/device_words.h"
#include "runtime/schedule/network.h"

namespace remotecl::schedule {

// The devices and the links between their servers.
class Cluster {
 public:
  DeviceId add(const Device& device);
  // A device may be lost, and return.
  void set_present(DeviceId device, bool present);

  std::size_t size() const { return paces_.size(); }  // lost ones, too
  const Device& operator[](DeviceId device) const { return devices_[device]; }
  const Pace& pace(DeviceId device) const { return paces_[device]; }
  DeviceWords present() const { return present_.words(); }
  DeviceWords builders() const { return builders_.words(); }
  std::span<const DeviceId> devices_of(ServerId server) const {
    return server < by_server_.size() ? by_server_[server] : std::span<const DeviceId>();
  }
  const DeviceGroups& groups() const { return groups_; }
  double speed_max() const { return speed_max_; }
  std::uint64_t memory_min() const { return memory_min_; }

  Network& network() { return network_; }
  const Network& network() const { return network_; }

 private:
  std::vector<Device> devices_;
  std::vector<Pace> paces_;  // by device
  DeviceGroups groups_;
  IndexSet present_, builders_;
  std::vector<std::vector<DeviceId>> by_server_;
  double speed_max_ = 0;
  std::uint64_t memory_min_ = UINT64_MAX;
  Network network_;
};

}  // namespace remotecl::schedule
