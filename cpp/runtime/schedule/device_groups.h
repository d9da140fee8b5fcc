#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/schedule/device.h"

namespace remotecl::schedule {

// Devices of one type whose speeds differ by a tenth at most, so that a kernel takes about as long on each. What is
// known of a whole group lets a decision skip most devices.
class DeviceGroups {
 public:
  // Small enough that the best of a group says much of each, and large enough that groups are few.
  static constexpr std::size_t kSize = 16;

  struct Group {
    Pace pace;  // of its fastest device
    int speed_class = 0;
    std::vector<DeviceId> devices;
  };

  // The next device. Returns its group.
  GroupId add(const Device& device);

  std::size_t size() const { return groups_.size(); }
  const Group& operator[](GroupId group) const { return groups_[group]; }
  // The device's position in tables that have kSize entries for each group.
  std::size_t position(DeviceId device) const { return positions_[device]; }

 private:
  std::vector<Group> groups_;
  std::vector<std::size_t> positions_;  // by device
};

}  // namespace remotecl::schedule
