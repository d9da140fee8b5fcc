#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "server/driver/device.h"
#include "server/driver/device_selection.h"

namespace remotecl::server {

// There is no driver, or no device that matches; what() names the cause and the remedy.
class NoDevice : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The OpenCL drivers of this machine, reduced to the devices that the daemon serves. Constant after
// construction, so any thread may use it. Outlives all sessions.
class NativeDriver {
 public:
  // Throws NoDevice.
  explicit NativeDriver(const DeviceSelection& selection);

  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }
  Device* device(std::uint32_t index) const { return index < devices_.size() ? devices_[index].get() : nullptr; }
  // The encoded DeviceList, the first message of a session, with the devices that the session may see. Their
  // memory is reported as `memory_max` at most.
  std::vector<std::byte> device_list(const std::function<bool(const Device&)>& is_visible,
                                     std::uint64_t memory_max) const;

 private:
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace remotecl::server
