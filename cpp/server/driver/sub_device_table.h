#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "runtime/base/mutex.h"
#include "server/driver/device.h"

namespace remotecl::server {

// A session's sub-devices by the indices that the client chose. Any thread. A released one can not be named any more
// and gives back what it has of the driver's, but its object stays until the session ends: whatever was under way on it
// still refers to it.
class SubDeviceTable {
 public:
  Device* find(std::uint32_t index) const EXCLUDES(mutex_);
  // REQUIRES: the index is not in use.
  void add(std::unique_ptr<Device> device) EXCLUDES(mutex_);
  // How many there have been.
  std::size_t ever() const EXCLUDES(mutex_);
  // The device that was there, or null. The caller closes it.
  Device* take(std::uint32_t index) EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::map<std::uint32_t, Device*> live_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Device>> all_ GUARDED_BY(mutex_);
};

}  // namespace remotecl::server
