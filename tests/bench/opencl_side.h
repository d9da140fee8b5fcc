#pragma once

#include <optional>
#include <string>

#include "opencl_objects.h"

namespace remotecl::bench {

// A device as a fresh process can find it again.
struct DeviceChoice {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  std::string platform_name;
  size_t index = 0;
  std::string device_name;
  std::string device_version;
  std::string driver_version;
};

// The device at `index` of the platform with exactly this name; throws ClError when there is none.
DeviceChoice find_device(const std::string& platform_name, size_t index);

// The native device to compare `remote` with: of a platform whose name contains `platform_part` (any but the
// remote one when that is empty), the one named like the remote device, else one of its type.
std::optional<DeviceChoice> find_native_device(const DeviceChoice& remote, const std::string& platform_part);

// Everything that a case needs on one device. Owned by main, used by its thread only.
class ClSide {
 public:
  explicit ClSide(DeviceChoice choice);

  const DeviceChoice& choice() const { return choice_; }
  cl_command_queue queue() const { return queue_.get(); }
  cl_command_queue profiling_queue() const { return profiling_queue_.get(); }
  // Null where the device has none.
  cl_command_queue out_of_order_queue() const { return out_of_order_queue_.get(); }
  cl_kernel no_op() const { return no_op_.get(); }
  // Copies one int from its first to its second argument.
  cl_kernel passthrough() const { return passthrough_.get(); }
  size_t max_allocation() const { return max_allocation_; }

  Memory make_buffer(size_t size) const;
  // Throws ClError with the build log when the source does not compile.
  Program build(const std::string& source) const;
  Kernel make_kernel(const Program& program, const char* name) const;

  // One work item.
  static void enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint wait_count = 0,
                      const cl_event* wait_list = nullptr, cl_event* event = nullptr);
  static void write(cl_command_queue queue, const Memory& buffer, const void* data, size_t size,
                    cl_bool blocking = CL_TRUE);
  static void read(cl_command_queue queue, const Memory& buffer, void* data, size_t size);
  static void finish(cl_command_queue queue);

 private:
  DeviceChoice choice_;
  size_t max_allocation_ = 0;
  Context context_;
  Queue queue_;
  Queue profiling_queue_;
  Queue out_of_order_queue_;
  Program program_;
  Kernel no_op_;
  Kernel passthrough_;
};

}  // namespace remotecl::bench
