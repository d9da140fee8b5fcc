#include "runtime/client/objects/image_layout.h"

namespace remotecl {
namespace {

// The sizes that the type has; ignores the other fields of the application's description.
ImageShape shape_of(const cl_image_format& format, const cl_image_desc& description) {
  ImageShape shape{description.image_type,
                   pixel_size(format.image_channel_order, format.image_channel_data_type),
                   description.image_width,
                   0,
                   0,
                   0};
  switch (shape.type) {
    case CL_MEM_OBJECT_IMAGE3D:
      shape.depth = description.image_depth;
      [[fallthrough]];
    case CL_MEM_OBJECT_IMAGE2D:
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
      shape.height = description.image_height;
      break;
    default:
      break;
  }
  if (shape.is_array()) shape.array_size = description.image_array_size;
  return shape;
}

}  // namespace

ImageLayout::ImageLayout(const cl_image_format& of, const cl_image_desc& description)
    : format(of),
      shape(shape_of(of, description)),
      pitches(pitches_for(shape.whole(), description.image_row_pitch,
                          shape.has_slices() ? description.image_slice_pitch : 0)) {}

Pitches ImageLayout::pitches_for(const Extent& region, std::uint64_t row_pitch, std::uint64_t slice_pitch) const {
  const Extent rows = bytes(region);
  if (row_pitch == 0) row_pitch = rows[0];
  if (slice_pitch == 0) slice_pitch = row_pitch * rows[1];
  return {row_pitch, slice_pitch};
}

Rectangle ImageLayout::at(const Extent& origin, const Pitches& in) const {
  const std::uint64_t x = origin[0] * shape.pixel;
  if (shape.type == CL_MEM_OBJECT_IMAGE1D_ARRAY) return {{x, 0, origin[1]}, in.row, in.slice};
  return {{x, origin[1], origin[2]}, in.row, in.slice};
}

}  // namespace remotecl
