#pragma once

#include <CL/cl.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/client/objects/device.h"

namespace remotecl {

// The formats that the native driver of a device gives for images of a type with these access flags, in its order,
// without those whose pixels we do not know. Asks the server the first time and blocks then; any thread. CL_SUCCESS,
// the driver's error, or CL_DEVICE_NOT_AVAILABLE.
cl_int image_formats(Device& device, cl_mem_flags flags, cl_mem_object_type type,
                     std::vector<cl_image_format>& formats);

// How often that asked nobody, and how often it asked. Any thread.
struct CacheCounts {
  std::atomic<std::uint64_t> hits{0}, misses{0};
};
const CacheCounts& image_format_cache();

// Whether the device takes images at all.
bool has_images(const Device& device);

}  // namespace remotecl
