#pragma once

#include "runtime/protocol/messages/message.h"

// How busy others keep the devices, for a client that chooses among them.
namespace remotecl {

// Whether the session wants DeviceLoads from now on.
struct WatchLoads {
  REMOTECL_MESSAGE(WatchLoads);
  std::uint32_t is_wanted;
  REMOTECL_FIELDS(is_wanted)
};

// The load of other sessions on one device.
struct LoadOfDevice {
  std::uint32_t index;               // of the device
  std::uint64_t queued_us;           // how long the device takes for their work that has not ended; an estimate
  std::uint64_t weight_thousandths;  // of the sessions whose work that is
  REMOTECL_FIELDS(index, queued_us, weight_thousandths)
};
// The devices whose load has changed. A device that was never named has no load.
struct DeviceLoads {
  REMOTECL_MESSAGE(DeviceLoads);
  Sequence<LoadOfDevice> devices;
  std::uint64_t own_weight_thousandths = 0;  // of the session's user; 0: not said
  REMOTECL_FIELDS(devices, own_weight_thousandths)
};

}  // namespace remotecl
