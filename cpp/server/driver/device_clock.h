#pragma once

#include <memory>

#include "runtime/base/mutex.h"
#include "server/completion/cl.h"

namespace remotecl::server {

class Device;

// Reads the clock that timestamps a device's profiled commands. Owned by the device; any thread.
class DeviceClock {
 public:
  // `has_timer`: the driver has clGetDeviceAndHostTimer.
  DeviceClock(Device& device, bool has_timer) : device_(device), has_timer_(has_timer) {}
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  // Whether read() has to wait for a command on the device.
  bool reads_slowly() const { return !has_timer_; }
  cl_int read(cl_ulong& time_ns) EXCLUDES(mutex_);
  void close() EXCLUDES(mutex_);

 private:
  struct Probe;

  // Null and `error` if the driver refuses.
  std::shared_ptr<Probe> probe(cl_int& error) EXCLUDES(mutex_);

  Device& device_;
  const bool has_timer_;
  Mutex mutex_;
  std::shared_ptr<Probe> probe_ GUARDED_BY(mutex_);  // null until it is needed
};

}  // namespace remotecl::server
