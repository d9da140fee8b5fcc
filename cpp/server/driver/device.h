#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "server/completion/cl.h"
#include "server/driver/device_clock.h"
#include "server/driver/device_load.h"
#include "server/driver/device_turns.h"
#include "server/driver/open_mappings.h"
#include "server/driver/pinned_memory.h"
#include "server/driver/quirks.h"

namespace remotecl::server {

// A driver's answer to one info query, byte for byte.
struct InfoAnswer {
  std::uint32_t name;
  std::vector<std::byte> value;
};

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
  const std::string& name() const { return name_; }
  const std::string& platform_name() const { return platform_name_; }
  const std::vector<InfoAnswer>& info() const { return info_; }
  const std::vector<InfoAnswer>& platform_info() const { return platform_info_; }
  // The OpenCL version: 21 for "OpenCL 2.1". Newer entry points must not be called.
  int version() const { return version_; }
  // An extension function of this device's platform, or null if the platform does not have it.
  template <class Function>
  Function extension(const char* name) const {
    return reinterpret_cast<Function>(clGetExtensionFunctionAddressForPlatform(platform_, name));
  }
  // Whether kernels run on this machine's cores, in this process.
  bool is_processor() const { return is_processor_; }
  // Whether mapping a buffer yields the memory that kernels use; bulk data then needs no staging.
  bool maps_in_place() const { return maps_in_place_.load(std::memory_order_relaxed); }
  // Whether kernels use the host memory of a buffer in place. Known once the context exists.
  bool uses_host_memory() const { return uses_host_memory_.load(std::memory_order_relaxed); }
  // For tests: takes the staged route on a device that does not need it, which is slower but not wrong.
  void stage_always() {
    maps_in_place_ = false;
    uses_host_memory_ = false;
  }

  // Where shared virtual memory can lie: nowhere; at addresses that the driver chooses; anywhere in this
  // process.
  enum class Svm { kNone, kOwnAddress, kAnyAddress };
  Svm svm() const { return svm_.load(std::memory_order_relaxed); }
  // For tests: leaves the choice of addresses to the driver on a device that could use any, which is not
  // wrong.
  void choose_svm_addresses() { svm_ = Svm::kOwnAddress; }
  std::uint64_t allocation_size_max() const { return allocation_size_max_; }
  std::uint64_t local_memory_size() const { return local_memory_size_; }

  const Quirks& quirks() const { return *quirks_; }

  // Counts memory of sessions' objects against what the device has, because a driver that allocates late
  // would end the whole daemon instead of refusing. Returns false if `size` bytes do not fit.
  bool reserve(std::uint64_t size);
  void give_back(std::uint64_t size);
  // What is reserved on the device and its sub-devices, and how much memory there is.
  std::uint64_t memory_used() const { return reserved_.load(std::memory_order_relaxed); }
  std::uint64_t memory_total() const { return memory_; }

  // The device that this is a sub-device of, or this device.
  Device& root() { return root_ == nullptr ? *this : *root_; }
  // A sub-device has its root's.
  DeviceLoad& load() { return root().load_; }

  // A sub-device has its root's.
  const Ref<DeviceTurns>& turns() { return root().turns_; }

  // clCreateSubDevices: fills `ids`, which must have room for as many as it creates. If `ids` is empty, only
  // counts.
  cl_int partition(const cl_device_partition_property* properties, std::vector<cl_device_id>& ids,
                   cl_uint& count) const;
  // Gives a sub-device and its context back to the driver, which keeps them while objects refer to them.
  void close() EXCLUDES(mutex_);

  // The open mappings of its buffers.
  const Ref<OpenMappings>& mappings() const { return mappings_; }
  // Receives the bytes of small reads.
  PinnedMemory& pinned_memory() { return pinned_memory_; }
  // The clock that timestamps profiled commands; a sub-device has its device's.
  DeviceClock& clock() { return clock_; }

  // Whether the driver's callbacks come late after an event has ended, as those of GPU drivers do.
  bool calls_back_late() const { return !maps_in_place(); }

  // Creates an event of the device's context that has ended; the caller owns it.
  cl_int ended_event(cl_event* event) EXCLUDES(mutex_);
  // Created at the first call. On failure returns null and sets the driver's error.
  cl_context context(cl_int& error) EXCLUDES(mutex_);

 private:
  const std::uint32_t index_;
  void ask_everything();

  const cl_platform_id platform_;
  const cl_device_id id_;
  Device* const root_;  // null for a device that is no sub-device
  std::vector<InfoAnswer> info_;
  std::vector<InfoAnswer> platform_info_;
  std::string name_;
  std::string platform_name_;
  const Quirks* quirks_ = nullptr;
  std::uint64_t memory_ = 0;
  std::atomic<std::uint64_t> reserved_{0};
  DeviceLoad load_;
  const Ref<DeviceTurns> turns_ = make_ref<DeviceTurns>();
  int version_ = 10;
  bool is_processor_ = false;
  std::atomic<bool> maps_in_place_{false};
  std::atomic<bool> uses_host_memory_{false};
  std::atomic<Svm> svm_{Svm::kNone};
  std::uint64_t allocation_size_max_ = 0;
  std::uint64_t local_memory_size_ = 0;
  const Ref<OpenMappings> mappings_ = make_ref<OpenMappings>();
  DeviceClock clock_;
  PinnedMemory pinned_memory_{*this};
  Mutex mutex_;
  cl_context context_ GUARDED_BY(mutex_) = nullptr;
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace remotecl::server
