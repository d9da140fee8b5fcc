#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/bytes.h"
#include "server/device.h"

namespace remotecl::server {

// No driver, or no device that was asked for; what() names cause and remedy.
class NoDevice : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The OpenCL drivers of this machine, reduced to the devices that the daemon serves. Constant after
// construction; any thread may use it. It outlives all sessions.
class NativeDriver {
 public:
  // `selection`: "all", or a comma-separated list of indices and parts of names. Throws NoDevice.
  explicit NativeDriver(std::string_view selection);

  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }
  Device* device(std::uint32_t index) const { return index < devices_.size() ? devices_[index].get() : nullptr; }
  // The encoded DeviceList, the first message of every session.
  Bytes device_list() const { return device_list_.bytes(); }

 private:
  std::vector<std::unique_ptr<Device>> devices_;
  ByteBuffer device_list_;
};

}  // namespace remotecl::server
