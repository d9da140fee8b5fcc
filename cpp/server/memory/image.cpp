#include "server/memory/image.h"

#include <limits>

namespace remotecl::server {

Image::Image(const ImageShape& shape, const cl_image_format& format, std::uint64_t flags, const Ref<Buffer>& buffer,
             std::uint64_t row_pitch, Ref<SessionCounters> counters)
    : Memory(Ref<Memory>(buffer.get()), std::move(counters)),
      shape_(shape),
      format_(format),
      flags_(flags & kDeviceFlags),
      row_pitch_(row_pitch) {}

cl_int Image::make(Device& device, Native& native) {
  cl_int error = CL_SUCCESS;
  if (*shape_.packed_size() > std::numeric_limits<std::size_t>::max() / 2) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  const cl_context context = device.context(error);
  if (context == nullptr) return error;
  cl_image_desc description{};
  description.image_type = shape_.type;
  description.image_width = shape_.width;
  description.image_height = shape_.height;
  description.image_depth = shape_.depth;
  description.image_array_size = shape_.array_size;
  description.image_row_pitch = row_pitch_;
  if (parent() != nullptr) {
    error = parent()->native(device, description.buffer);
    if (error != CL_SUCCESS) return error;
  } else {
    if (!reserve(device, *shape_.packed_size(), native)) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  }
  native.memory = clCreateImage(context, flags_, &format_, &description, nullptr, &error);
  return error;
}

}  // namespace remotecl::server
