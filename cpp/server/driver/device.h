#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "server/completion/cl.h"
#include "server/driver/device_clock.h"
#include "server/driver/device_load.h"
#include "server/driver/device_memory.h"
#include "server/driver/device_traits.h"
#include "server/driver/device_turns.h"
#include "server/driver/released_memory.h"
#include "server/driver/released_queues.h"

namespace remotecl::server {

// A device that this daemon serves. Its one native context is shared by all sessions, so that a new session
// costs nothing, and contains no other device, so that no driver has to keep several in step. Owned by
// NativeDriver; any thread may use it. A sub-device is a Device too: it has a context of its own, and the one
// session that uses it owns it.
class Device {
 public:
  Device(std::uint32_t index, cl_platform_id platform, cl_device_id id);
  // A sub-device. Takes over the driver's reference.
  Device(std::uint32_t index, Device& parent, cl_device_id id);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  std::uint32_t index() const { return index_; }
  cl_device_id id() const { return id_; }
  const DeviceTraits& traits() const { return traits_; }
  // The operator's description of it, in the form of info queries. say() is called before any session begins.
  const std::vector<InfoAnswer>& said() const { return said_; }
  void say(std::uint32_t name, Bytes value);
  DeviceMemory& memory() { return memory_; }
  const DeviceMemory& memory() const { return memory_; }
  // An extension function of this device's platform, or null if the platform does not have it.
  template <class Function>
  Function extension(const char* name) const {
    return reinterpret_cast<Function>(clGetExtensionFunctionAddressForPlatform(platform_, name));
  }

  // The device that this is a sub-device of, or this device.
  Device& root() { return root_ == nullptr ? *this : *root_; }
  // A sub-device has its root's.
  DeviceLoad& load() { return root().load_; }

  ReleasedMemory& released_memory() { return released_memory_; }
  ReleasedQueues& released_queues() { return released_queues_; }

  // A sub-device has its root's.
  const Ref<DeviceTurns>& turns() { return root().turns_; }

  // clCreateSubDevices: fills `ids`, which must have room for as many as it creates. If `ids` is empty, only
  // counts.
  cl_int partition(const cl_device_partition_property* properties, std::vector<cl_device_id>& ids,
                   cl_uint& count) const;
  // Gives a sub-device and its context back to the driver, which keeps them while objects refer to them. May take long;
  // no other thread may look at the traits' answers any more.
  void close() EXCLUDES(mutex_);

  // The clock that timestamps profiled commands; a sub-device has its device's.
  DeviceClock& clock() { return clock_; }

  // Whether the driver's callbacks come late after an event has ended, as those of GPU drivers do.
  bool calls_back_late() const { return !memory_.is_in_process(); }

  // Creates an event of the device's context that has ended; the caller owns it.
  cl_int ended_event(cl_event* event) EXCLUDES(mutex_);
  // Created at the first call. On failure returns null and sets the driver's error.
  cl_context context(cl_int& error) EXCLUDES(mutex_);

 private:
  const std::uint32_t index_;
  const cl_platform_id platform_;
  const cl_device_id id_;
  Device* const root_;  // null for a device that is no sub-device
  DeviceTraits traits_;
  std::vector<InfoAnswer> said_;
  DeviceMemory memory_;
  DeviceLoad load_;
  ReleasedMemory released_memory_;
  ReleasedQueues released_queues_{traits_.quirks.hangs_releasing_busy_queues};
  const Ref<DeviceTurns> turns_ = make_ref<DeviceTurns>();
  DeviceClock clock_;
  Mutex mutex_;  // also while the context is made, because all who want the lock want the context
  cl_context context_ GUARDED_BY(mutex_) = nullptr;
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace remotecl::server
