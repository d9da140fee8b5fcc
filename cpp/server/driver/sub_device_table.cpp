#include "server/driver/sub_device_table.h"

#include <utility>

namespace remotecl::server {

Device* SubDeviceTable::find(std::uint32_t index) const {
  MutexLock lock(mutex_);
  const auto at = live_.find(index);
  return at == live_.end() ? nullptr : at->second;
}

void SubDeviceTable::add(std::unique_ptr<Device> device) {
  MutexLock lock(mutex_);
  live_.emplace(device->index(), device.get());
  all_.push_back(std::move(device));
}

std::size_t SubDeviceTable::ever() const {
  MutexLock lock(mutex_);
  return all_.size();
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
