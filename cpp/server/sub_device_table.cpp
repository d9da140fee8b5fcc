#include "server/sub_device_table.h"

#include <utility>

namespace remotecl::server {

Device* SubDeviceTable::find(std::uint32_t index) const {
  MutexLock lock(mutex_);
  const auto at = live_.find(index);
  return at == live_.end() ? nullptr : at->second;
}

bool SubDeviceTable::add(std::unique_ptr<Device> device) {
  MutexLock lock(mutex_);
  if (all_.size() >= kEverMax || !live_.emplace(device->index(), device.get()).second) return false;
  all_.push_back(std::move(device));
  return true;
}

Device* SubDeviceTable::take(std::uint32_t index) {
  MutexLock lock(mutex_);
  const auto at = live_.find(index);
  if (at == live_.end()) return nullptr;
  Device* device = at->second;
  live_.erase(at);
  return device;
}

}  // namespace remotecl::server
