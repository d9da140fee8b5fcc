#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "runtime/base/mutex.h"
#include "server/driver/device.h"

namespace remotecl::server {

// A session's sub-devices by the indices that the client chose. Any thread. A released sub-device cannot be
// named any more and gives its driver resources back, but its object stays until the session ends, because
// pending commands still refer to it.
class SubDeviceTable {
 public:
  Device* find(std::uint32_t index) const EXCLUDES(mutex_);
  // REQUIRES: the index is not in use.
  void add(std::unique_ptr<Device> device) EXCLUDES(mutex_);
  // How many were ever added.
  std::size_t ever() const EXCLUDES(mutex_);
  // Removes the device and returns it, or null if there is none. The caller closes it.
  Device* take(std::uint32_t index) EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::map<std::uint32_t, Device*> live_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Device>> all_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
