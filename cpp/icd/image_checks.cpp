#include "icd/image_checks.h"

#include <algorithm>

#include "runtime/client/objects/image_formats.h"

namespace remotecl::icd {
namespace {

template <class Fits>
bool any_device(Context& context, Fits&& fits) {
  return std::ranges::any_of(context.named_devices(),
                             [&](const Device* device) { return has_images(*device) && fits(*device); });
}

// "CL_INVALID_IMAGE_SIZE if image dimensions specified in image_desc exceed the maximum image dimensions described in
// the Device Queries table for all devices in context."
bool fits(const Device& device, const ImageShape& shape) {
  const auto within = [&device](std::uint64_t size, cl_device_info limit) {
    return size <= device.number<std::size_t>(limit, 0);
  };
  switch (shape.type) {
    case CL_MEM_OBJECT_IMAGE1D_BUFFER:
      return within(shape.width, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE);
    case CL_MEM_OBJECT_IMAGE1D:
      return within(shape.width, CL_DEVICE_IMAGE2D_MAX_WIDTH);
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
      return within(shape.width, CL_DEVICE_IMAGE2D_MAX_WIDTH) &&
             within(shape.array_size, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE);
    case CL_MEM_OBJECT_IMAGE2D:
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
      return within(shape.width, CL_DEVICE_IMAGE2D_MAX_WIDTH) && within(shape.height, CL_DEVICE_IMAGE2D_MAX_HEIGHT) &&
             (!shape.is_array() || within(shape.array_size, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE));
    default:
      return within(shape.width, CL_DEVICE_IMAGE3D_MAX_WIDTH) && within(shape.height, CL_DEVICE_IMAGE3D_MAX_HEIGHT) &&
             within(shape.depth, CL_DEVICE_IMAGE3D_MAX_DEPTH);
  }
}

// CL_SUCCESS, or the reason why the device does not support the format.
cl_int takes_format(Device& device, cl_mem_flags flags, const ImageLayout& layout) {
  if (!has_images(device)) return CL_IMAGE_FORMAT_NOT_SUPPORTED;
  std::vector<cl_image_format> formats;
  const cl_int error = image_formats(device, flags, layout.shape.type, formats);
  if (error == CL_DEVICE_NOT_AVAILABLE) return error;
  const bool takes =
      std::ranges::any_of(formats, [&](const auto& format) { return same_format(layout.format, format); });
  return error == CL_SUCCESS && takes ? CL_SUCCESS : CL_IMAGE_FORMAT_NOT_SUPPORTED;
}

// "CL_IMAGE_FORMAT_NOT_SUPPORTED if there are no devices in context that support image_format." If only
// devices of lost servers might, the error says that they are not available.
void require_format(Context& context, cl_mem_flags flags, const ImageLayout& layout) {
  cl_int error = CL_IMAGE_FORMAT_NOT_SUPPORTED;
  for (Device* device : context.named_devices()) {
    const cl_int answer = takes_format(*device, flags, layout);
    if (answer == CL_SUCCESS) return;
    if (answer == CL_DEVICE_NOT_AVAILABLE) error = answer;
  }
  require(false, error);
}

bool is_image_type(cl_mem_object_type type) {
  return type >= CL_MEM_OBJECT_IMAGE2D && type <= CL_MEM_OBJECT_IMAGE1D_BUFFER;
}

// "CL_INVALID_IMAGE_DESCRIPTOR if values specified in image_desc are not valid", except for pitches.
void require_valid(const cl_image_desc& description) {
  constexpr cl_int kCode = CL_INVALID_IMAGE_DESCRIPTOR;
  const cl_mem_object_type type = description.image_type;
  require(is_image_type(type), kCode);
  require(description.image_width != 0, kCode);
  const bool has_height =
      type == CL_MEM_OBJECT_IMAGE2D || type == CL_MEM_OBJECT_IMAGE2D_ARRAY || type == CL_MEM_OBJECT_IMAGE3D;
  require(!has_height || description.image_height != 0, kCode);
  require(type != CL_MEM_OBJECT_IMAGE3D || description.image_depth != 0, kCode);
  const bool is_array = type == CL_MEM_OBJECT_IMAGE1D_ARRAY || type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
  require(!is_array || description.image_array_size != 0, kCode);
  // "num_mip_levels and num_samples must be 0."
  require(description.num_mip_levels == 0 && description.num_samples == 0, kCode);
  // A 2D image may be made from a buffer, and a 1D buffer image must be.
  require((type != CL_MEM_OBJECT_IMAGE1D_BUFFER || description.buffer != nullptr), kCode);
  if (const auto* const buffer = from_handle<MemoryObject>(description.buffer)) {
    require(buffer->network_device() == nullptr, kCode);
  }
  require(description.buffer == nullptr || type == CL_MEM_OBJECT_IMAGE1D_BUFFER || type == CL_MEM_OBJECT_IMAGE2D,
          kCode);
}

// "image_row_pitch must be 0 if host_ptr is NULL and can be either 0 or >= image_width x size of element in
// bytes if host_ptr is not NULL", likewise the slice pitch. Each must be a multiple of its unit.
void require_host_pitches(const cl_image_desc& description, const ImageLayout& layout, const void* host_ptr) {
  constexpr cl_int kCode = CL_INVALID_IMAGE_DESCRIPTOR;
  const std::uint64_t row = description.image_row_pitch;
  const std::uint64_t slice = layout.shape.has_slices() ? description.image_slice_pitch : 0;
  require(host_ptr != nullptr || (row == 0 && slice == 0), kCode);
  const Extent rows = layout.bytes(layout.shape.whole());
  require(row == 0 || (row >= rows[0] && row % layout.shape.pixel == 0), kCode);
  std::uint64_t slice_min = 0;
  require(!__builtin_mul_overflow(layout.pitches.row, rows[1], &slice_min), kCode);
  require(slice == 0 || (slice >= slice_min && slice % layout.pitches.row == 0), kCode);
}

// "CL_INVALID_VALUE if an image is being created from another memory object (buffer or image) under one of the
// following circumstances: 1) mem_object was created with CL_MEM_WRITE_ONLY and flags specifies CL_MEM_READ_WRITE or
// CL_MEM_READ_ONLY, 2) [the reverse], 3) flags specifies CL_MEM_USE_HOST_PTR or CL_MEM_ALLOC_HOST_PTR or
// CL_MEM_COPY_HOST_PTR", and the same for host access.
void require_flags_of_view(cl_mem_flags flags, const MemoryObject& buffer) {
  require((flags & kHostPointerFlags) == 0, CL_INVALID_VALUE);
  const cl_mem_flags own = flags & kAccessFlags;
  if ((buffer.flags() & CL_MEM_WRITE_ONLY) != 0) require((own & ~CL_MEM_WRITE_ONLY) == 0, CL_INVALID_VALUE);
  if ((buffer.flags() & CL_MEM_READ_ONLY) != 0) require((own & ~CL_MEM_READ_ONLY) == 0, CL_INVALID_VALUE);
  const cl_mem_flags host = flags & kHostAccessFlags;
  const cl_mem_flags buffer_host = buffer.flags() & kHostAccessFlags;
  require(host == 0 || buffer_host == 0 || host == buffer_host || host == CL_MEM_HOST_NO_ACCESS, CL_INVALID_VALUE);
}

// The buffer that an image is made from.
MemoryObject& buffer_of(Context& context, const cl_image_desc& description, const ImageLayout& layout) {
  constexpr cl_int kCode = CL_INVALID_IMAGE_DESCRIPTOR;
  const auto pitch_alignment = [](const Device& device) {
    return std::uint64_t{device.number<cl_uint>(CL_DEVICE_IMAGE_PITCH_ALIGNMENT, 0)};
  };
  // "[CL_DEVICE_IMAGE_PITCH_ALIGNMENT] must be 0 for devices that do not support 2D images created from a buffer":
  // CL_INVALID_OPERATION, where no device does.
  const bool is_2d = layout.shape.type == CL_MEM_OBJECT_IMAGE2D;
  require(!is_2d || any_device(context, pitch_alignment), CL_INVALID_OPERATION);
  MemoryObject* buffer = from_handle<MemoryObject>(description.buffer);
  require(buffer != nullptr && buffer->image() == nullptr && &buffer->context() == &context, kCode);
  if (is_2d) {
    const std::uint64_t row = description.image_row_pitch;
    require(row == 0 || row >= layout.shape.width * layout.shape.pixel, kCode);
    // "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR if a 2D image is created from a buffer and the row pitch and base
    // address alignment does not follow the rules described for creating a 2D image from a buffer": the
    // alignment is counted in pixels.
    const auto aligned = [&](const Device& device) {
      const std::uint64_t alignment = pitch_alignment(device);
      return alignment != 0 && layout.pitches.row % (alignment * layout.shape.pixel) == 0;
    };
    require(any_device(context, aligned), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
  }
  require(layout.size() <= buffer->size(), kCode);
  return *buffer;
}

}  // namespace

std::vector<cl_image_format> context_formats(Context& context, cl_mem_flags flags, cl_mem_object_type type) {
  // "clGetSupportedImageFormats returns a union of image formats supported by all devices in the context."
  std::vector<cl_image_format> all;
  bool has_answer = false;
  cl_int refusal = CL_SUCCESS;
  for (Device* device : context.named_devices()) {
    if (!has_images(*device)) continue;
    std::vector<cl_image_format> formats;
    const cl_int error = image_formats(*device, flags, type, formats);
    if (error != CL_SUCCESS) {  // lost, or its driver does not know the flags or the type
      refusal = error;
      continue;
    }
    has_answer = true;
    std::erase_if(formats, [&all](const cl_image_format& format) {
      return std::ranges::any_of(all, [&](const cl_image_format& known) { return same_format(format, known); });
    });
    all.insert(all.end(), formats.begin(), formats.end());
  }
  require(has_answer || refusal == CL_SUCCESS, refusal);
  return all;
}

ImageLayout checked_layout(Context& context, cl_mem_flags flags, const cl_image_format* format,
                           const cl_image_desc* description, const void* host_ptr, MemoryObject*& buffer) {
  // "CL_INVALID_OPERATION if there are no devices in context that support images."
  require(any_device(context, [](const Device&) { return true; }), CL_INVALID_OPERATION);
  // "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR if values specified in image_format are not valid or if image_format is NULL."
  require(format != nullptr && pixel_size(format->image_channel_order, format->image_channel_data_type) != 0,
          CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
  // "CL_INVALID_IMAGE_DESCRIPTOR if values specified in image_desc are not valid or if image_desc is NULL."
  require(description != nullptr, CL_INVALID_IMAGE_DESCRIPTOR);
  require_valid(*description);
  const ImageLayout layout(*format, *description);
  const auto takes_size = [&](const Device& device) { return fits(device, layout.shape); };
  require(layout.shape.packed_size().has_value() && any_device(context, takes_size), CL_INVALID_IMAGE_SIZE);
  buffer = nullptr;
  if (description->buffer != nullptr) {
    buffer = &buffer_of(context, *description, layout);
    require_flags_of_view(flags, *buffer);
    require(host_ptr == nullptr, CL_INVALID_HOST_PTR);
  } else {
    require_host_pitches(*description, layout, host_ptr);
    // "CL_INVALID_HOST_PTR if host_ptr is NULL and CL_MEM_USE_HOST_PTR or CL_MEM_COPY_HOST_PTR are set in flags or if
    // host_ptr is not NULL but [they] are not set."
    const bool wants_pointer = (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0;
    require(wants_pointer == (host_ptr != nullptr), CL_INVALID_HOST_PTR);
  }
  require_format(context, (flags & kAccessFlags) != 0 ? flags : flags | CL_MEM_READ_WRITE, layout);
  return layout;
}

void require_takes_image(Device& device, const MemoryObject& image) {
  // "CL_INVALID_OPERATION if the device associated with command_queue does not support images."
  require(has_images(device), CL_INVALID_OPERATION);
  if (image.context().named_devices().size() == 1) return;  // its creation has checked that already
  // "CL_INVALID_IMAGE_SIZE if image dimensions [...] are not supported by device associated with queue",
  // "CL_IMAGE_FORMAT_NOT_SUPPORTED if image format for image is not supported by device associated with queue."
  require(fits(device, image.image()->shape), CL_INVALID_IMAGE_SIZE);
  const cl_int error = takes_format(device, image.flags(), *image.image());
  require(error == CL_SUCCESS, error);
}

}  // namespace remotecl::icd
