#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/protocol/messages/load.h"

namespace remotecl::server {

// The work that one session has on each device. A value.
struct SessionLoad {
  struct OnDevice {
    double queued_s = 0;  // 0: none
    double weight = 0;    // of the session's user
  };

  std::uint64_t session = 0;
  std::vector<OnDevice> devices;  // by their index; may be shorter than the list of all
};

// The work that sessions other than `session` have on `devices`. The weights of sessions add up, as devices serve them.
std::vector<LoadOfDevice> loads_of_others(std::span<const SessionLoad> sessions, std::uint64_t session,
                                          std::span<const std::uint32_t> devices);

std::vector<LoadOfDevice> loads_of(const DeviceLoads& message);

// The loads last reported to a watcher. A value.
class ReportedLoads {
 public:
  // The devices that were never reported, or whose load has become or ceased to be zero or differs by more than a
  // tenth.
  std::vector<LoadOfDevice> changes(std::span<const LoadOfDevice> loads) const;
  void reported(std::span<const LoadOfDevice> loads);

 private:
  const LoadOfDevice* find(std::uint32_t device) const;

  std::vector<LoadOfDevice> loads_;
};

}  // namespace remotecl::server
