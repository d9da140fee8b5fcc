#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/ref_counted.h"
#include "server/driver/device_traits.h"
#include "server/driver/pinned_memory.h"

namespace remotecl::server {

// A device's memory: how much of it is taken, and how this process reaches it. Owned by the device; any
// thread.
class DeviceMemory {
 public:
  // `root`: the memory of the device that `device` is a sub-device of, or null.
  DeviceMemory(Device& device, const DeviceTraits& traits, DeviceMemory* root);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Counts memory of sessions' objects against what the device has, because a driver that allocates late
  // would end the whole daemon instead of refusing. Returns false if `size` bytes do not fit.
  bool reserve(std::uint64_t size);
  void give_back(std::uint64_t size);
  // The memory of a device, and how much of it the device and its sub-devices have reserved.
  std::uint64_t used() const { return reserved_.load(std::memory_order_relaxed); }
  std::uint64_t total() const { return total_; }

  // Whether the device is a processor, whose kernels run in this process.
  bool is_in_process() const { return is_in_process_.load(std::memory_order_relaxed); }
  // Whether kernels use the host memory of a buffer in place; bulk data then needs no staging. Known once the context
  // exists.
  bool uses_host_memory() const { return uses_host_memory_.load(std::memory_order_relaxed); }
  // Finds out uses_host_memory() with the device's new context.
  void examine(cl_context context, cl_device_id device);
  // For tests: takes the staged route on a device that does not need it, which is slower but not wrong.
  void stage_always() {
    is_in_process_ = false;
    uses_host_memory_ = false;
  }

  // Where shared virtual memory can lie: nowhere; at addresses that the driver chooses; anywhere in this
  // process.
  enum class Svm { kNone, kOwnAddress, kAnyAddress };
  Svm svm() const { return svm_.load(std::memory_order_relaxed); }
  // For tests: leaves the choice of addresses to the driver on a device that could use any, which is not
  // wrong.
  void choose_svm_addresses() { svm_ = Svm::kOwnAddress; }

  // Receives the bytes of small reads.
  PinnedMemory& pinned() { return pinned_; }

 private:
  DeviceMemory* const root_;
  const std::uint64_t total_;
  std::atomic<std::uint64_t> reserved_{0};
  std::atomic<bool> is_in_process_;
  std::atomic<bool> uses_host_memory_{false};
  std::atomic<Svm> svm_{Svm::kNone};
  PinnedMemory pinned_;
};

}  // namespace remotecl::server
