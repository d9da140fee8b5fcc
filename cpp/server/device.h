#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "server/cl.h"

namespace remotecl::server {

// What a driver answered to one info query, byte for byte.
struct InfoAnswer {
  std::uint32_t name;
  std::vector<std::byte> value;
};

// One device that this daemon serves, with its own native context, which all sessions share: a new session
// costs nothing, and no driver has to keep several devices in step. Owned by NativeDriver; any thread may use
// it.
class Device {
 public:
  Device(std::uint32_t index, cl_platform_id platform, cl_device_id id);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  std::uint32_t index() const { return index_; }
  cl_device_id id() const { return id_; }
  const std::string& name() const { return name_; }
  const std::string& platform_name() const { return platform_name_; }
  const std::vector<InfoAnswer>& info() const { return info_; }
  const std::vector<InfoAnswer>& platform_info() const { return platform_info_; }
  // Mapping a buffer gives the memory that kernels use: bulk data needs no staging.
  bool maps_in_place() const { return maps_in_place_.load(std::memory_order_relaxed); }
  // Staging is never wrong; tests take that road on a device that would not need it.
  void stage_always() { maps_in_place_ = false; }

  // Commands that wait for all earlier ones cost the driver a time that grows with the square of their
  // number.
  bool waits_for_all_slowly() const { return platform_name_ == "Portable Computing Language"; }

  // On filling a 1D buffer image, the process ends.
  bool crashes_filling_buffer_images() const { return platform_name_ == "Portable Computing Language"; }

  // Made at the first call. Null and the driver's error when that fails.
  cl_context context(cl_int& error) EXCLUDES(mutex_);

 private:
  const std::uint32_t index_;
  const cl_platform_id platform_;
  const cl_device_id id_;
  std::vector<InfoAnswer> info_;
  std::vector<InfoAnswer> platform_info_;
  std::string name_;
  std::string platform_name_;
  std::atomic<bool> maps_in_place_{false};
  Mutex mutex_;
  cl_context context_ GUARDED_BY(mutex_) = nullptr;
};

}  // namespace remotecl::server
