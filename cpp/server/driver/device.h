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
#include "server/driver/pinned_memory.h"

namespace remotecl::server {

// What a driver answered to one info query, byte for byte.
struct InfoAnswer {
  std::uint32_t name;
  std::vector<std::byte> value;
};

// One device that this daemon serves, with its own native context, which all sessions share: a new session
// costs nothing, and no driver has to keep several devices in step. Owned by NativeDriver; any thread may use
// it. Or a part of such a device, with a context of its own too, of one session, which owns it.
class Device {
 public:
  Device(std::uint32_t index, cl_platform_id platform, cl_device_id id);
  // A sub-device; takes over the driver's reference.
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
  // "OpenCL 2.1" and the like as 21: entry points that are newer must not be called.
  int version() const { return version_; }
  // An extension function of this device's platform; null when it has none.
  template <class Function>
  Function extension(const char* name) const {
    return reinterpret_cast<Function>(clGetExtensionFunctionAddressForPlatform(platform_, name));
  }
  // Its kernels run on this machine's cores, in this process.
  bool is_processor() const { return is_processor_; }
  // Mapping a buffer gives the memory that kernels use: bulk data needs no staging.
  bool maps_in_place() const { return maps_in_place_.load(std::memory_order_relaxed); }
  // Kernels use memory that this process gave to a buffer, where it is. Known with the context.
  bool uses_host_memory() const { return uses_host_memory_.load(std::memory_order_relaxed); }
  // Staging is never wrong; tests take that road on a device that would not need it.
  void stage_always() {
    maps_in_place_ = false;
    uses_host_memory_ = false;
  }

  // Shared virtual memory: none; at addresses that the driver chooses; or any memory of this process.
  enum class Svm { kNone, kOwnAddress, kAnyAddress };
  Svm svm() const { return svm_.load(std::memory_order_relaxed); }
  // Leaving the choice to the driver is never wrong; tests take that road on a device that would not need it.
  void choose_svm_addresses() { svm_ = Svm::kOwnAddress; }
  std::uint64_t allocation_size_max() const { return allocation_size_max_; }
  std::uint64_t local_memory_size() const { return local_memory_size_; }

  // Commands that wait for all earlier ones cost the driver a time that grows with the square of their
  // number.
  bool waits_for_all_slowly() const { return platform_name_ == "Portable Computing Language"; }
  // Two links of equal programs at the same time, also in two processes, make one of them fail: the driver replaces a
  // file of its cache in two steps.
  bool links_disturb_each_other() const { return platform_name_ == "Portable Computing Language"; }

  // Memory of sessions' objects, counted against what the device has: a driver that allocates late would end the whole
  // daemon instead of refusing. False when `size` bytes do not fit any more.
  bool reserve(std::uint64_t size);
  void give_back(std::uint64_t size);
  // What is reserved on it and on its parts, and what there is.
  std::uint64_t memory_used() const { return reserved_.load(std::memory_order_relaxed); }
  std::uint64_t memory_total() const { return memory_; }

  // The device that this is a part of, or this.
  Device& root() { return root_ == nullptr ? *this : *root_; }
  // Of a part: its root's.
  DeviceLoad& load() { return root().load_; }

  // Of a part: its root's.
  const Ref<DeviceTurns>& turns() { return root().turns_; }

  // clCreateSubDevices: as many ids as it makes, which must fit into `ids`; only their count when that is empty.
  cl_int partition(const cl_device_partition_property* properties, std::vector<cl_device_id>& ids,
                   cl_uint& count) const;
  // Gives a sub-device and its context back to the driver, which keeps them as long as objects of theirs live.
  void close() EXCLUDES(mutex_);

  // For the bytes of small reads.
  PinnedMemory& pinned_memory() { return pinned_memory_; }
  // The clock of its profiled commands; a part has its device's.
  DeviceClock& clock() { return clock_; }

  // Tells nothing of kernel arguments unless the program was built with -cl-kernel-arg-info, which is safe to add
  // there. Elsewhere it is not: NVIDIA's compiler then rejects some kernels.
  bool needs_request_for_arguments() const { return platform_name_ == "Portable Computing Language"; }

  // Calls back late when an event has ended, as drivers of GPUs do.
  bool calls_back_late() const { return !maps_in_place(); }

  // On filling a 1D buffer image, the process ends.
  bool crashes_filling_buffer_images() const { return platform_name_ == "Portable Computing Language"; }

  // On a rectangle or on pixels that are copied from or to a part of a buffer, too.
  bool crashes_copying_parts() const { return platform_name_ == "Portable Computing Language"; }

  // An event of the device's context that has ended, the caller's.
  cl_int ended_event(cl_event* event) EXCLUDES(mutex_);
  // Made at the first call. Null and the driver's error when that fails.
  cl_context context(cl_int& error) EXCLUDES(mutex_);

 private:
  const std::uint32_t index_;
  void ask_everything();

  const cl_platform_id platform_;
  const cl_device_id id_;
  Device* const root_;  // null: this is no part of another one
  std::vector<InfoAnswer> info_;
  std::vector<InfoAnswer> platform_info_;
  std::string name_;
  std::string platform_name_;
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
  DeviceClock clock_;
  PinnedMemory pinned_memory_{*this};
  Mutex mutex_;
  cl_context context_ GUARDED_BY(mutex_) = nullptr;
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace remotecl::server
