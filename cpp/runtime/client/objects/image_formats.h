#pragma once

#include <CL/cl.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/client/objects/device.h"

namespace remotecl {

// The formats that a device's native driver supports for images of a type with these access flags, in its
// order, without those whose pixel size is unknown. The first call asks the server and blocks. Any thread.
// Returns CL_SUCCESS, the driver's error, or CL_DEVICE_NOT_AVAILABLE. Of an automatic device, those that all of its
// members support whose servers are there.
cl_int image_formats(Device& device, cl_mem_flags flags, cl_mem_object_type type,
                     std::vector<cl_image_format>& formats);

inline bool same_format(const cl_image_format& one, const cl_image_format& other) {
  return one.image_channel_order == other.image_channel_order &&
         one.image_channel_data_type == other.image_channel_data_type;
}

// Drops the answers of a device that ends: another one may get its address.
void forget_image_formats(const Device& device);

// How often image_formats() answered from its cache, and how often it asked. Any thread.
struct CacheCounts {
  std::atomic<std::uint64_t> hits{0}, misses{0};
};
const CacheCounts& image_format_cache();

// Whether the device supports images at all.
bool has_images(const Device& device);

}  // namespace remotecl
