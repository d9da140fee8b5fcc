#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <optional>

#include "runtime/protocol/messages/message.h"

// The size of a pixel and the packing of pixels, on which client and server must agree.
namespace remotecl {

// One channel of a pixel, of the types that give each channel bytes of its own.
struct PixelChannel {
  std::uint32_t size = 0;  // in bytes; 0: the type is none of these
  bool is_normalized_or_float = true;
};
constexpr PixelChannel pixel_channel(cl_channel_type type) {
  switch (type) {
    case CL_SNORM_INT8:
    case CL_UNORM_INT8:
      return {1, true};
    case CL_SIGNED_INT8:
    case CL_UNSIGNED_INT8:
      return {1, false};
    case CL_SNORM_INT16:
    case CL_UNORM_INT16:
    case CL_HALF_FLOAT:
      return {2, true};
    case CL_SIGNED_INT16:
    case CL_UNSIGNED_INT16:
      return {2, false};
    case CL_SIGNED_INT32:
    case CL_UNSIGNED_INT32:
      return {4, false};
    case CL_FLOAT:
      return {4, true};
    default:
      return {};
  }
}

// The size of a pixel whose channels share bytes; 0 if OpenCL has no such format.
constexpr std::uint32_t packed_pixel_size(cl_channel_order order, cl_channel_type type) {
  switch (type) {
    case CL_UNORM_SHORT_565:
    case CL_UNORM_SHORT_555:
      return order == CL_RGB || order == CL_RGBx ? 2 : 0;
    case CL_UNORM_INT_101010:
      return order == CL_RGB || order == CL_RGBx ? 4 : 0;
    case CL_UNORM_INT_101010_2:
      return order == CL_RGBA ? 4 : 0;
    default:
      return 0;
  }
}

// The size of a pixel in bytes; 0 if OpenCL has no such format.
constexpr std::uint32_t pixel_size(cl_channel_order order, cl_channel_type type) {
  const auto [channel, is_normalized_or_float] = pixel_channel(type);
  if (channel == 0) return packed_pixel_size(order, type);
  switch (order) {
    case CL_R:
    case CL_A:
    case CL_Rx:
      return channel;
    case CL_INTENSITY:
    case CL_LUMINANCE:
      return is_normalized_or_float ? channel : 0;
    case CL_DEPTH:
      return type == CL_UNORM_INT16 || type == CL_FLOAT ? channel : 0;
    case CL_RG:
    case CL_RA:
    case CL_RGx:
      return 2 * channel;
    case CL_RGBA:
      return 4 * channel;
    case CL_ARGB:
    case CL_BGRA:
    case CL_ABGR:
      return channel <= 2 ? 4 * channel : 0;  // 16 bits are not in the specification, but NVIDIA's driver has them
    case CL_sRGB:
      return type == CL_UNORM_INT8 ? 3 : 0;
    case CL_sRGBx:
    case CL_sRGBA:
    case CL_sBGRA:
      return type == CL_UNORM_INT8 ? 4 : 0;
    default:
      return 0;
  }
}

// The size of an image. Dimensions that its type does not have are 0.
struct ImageShape {
  cl_mem_object_type type;
  std::uint32_t pixel;  // in bytes
  std::uint64_t width, height, depth, array_size;

  bool is_array() const { return type == CL_MEM_OBJECT_IMAGE1D_ARRAY || type == CL_MEM_OBJECT_IMAGE2D_ARRAY; }
  // Whether clEnqueue...Image takes a slice pitch.
  bool has_slices() const { return is_array() || type == CL_MEM_OBJECT_IMAGE3D; }

  // The whole image, counted as the commands' `region` is: (width, layers) for 1D arrays, (width, height,
  // layers) for 2D arrays.
  Extent whole() const {
    switch (type) {
      case CL_MEM_OBJECT_IMAGE2D:
        return {width, height, 1};
      case CL_MEM_OBJECT_IMAGE3D:
        return {width, height, depth};
      case CL_MEM_OBJECT_IMAGE1D_ARRAY:
        return {width, array_size, 1};
      case CL_MEM_OBJECT_IMAGE2D_ARRAY:
        return {width, height, array_size};
      default:
        return {width, 1, 1};
    }
  }

  // Whether the region is not empty and lies in the image.
  bool contains(const Extent& origin, const Extent& region) const {
    const Extent all = whole();
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (region[axis] == 0 || region[axis] > all[axis] || origin[axis] > all[axis] - region[axis]) return false;
    }
    return true;
  }

  // Bytes in a row, rows in a slice, slices: the layout of a region in memory with pitches. A layer of a 1D
  // array is a slice of one row.
  Extent rows(const Extent& region) const {
    const std::uint64_t row = region[0] * pixel;
    if (type == CL_MEM_OBJECT_IMAGE1D_ARRAY) return {row, 1, region[1]};
    return {row, region[1], region[2]};
  }

  // The size of the packed image in bytes; nothing if the type is unknown, a dimension is 0 or the product
  // overflows.
  std::optional<std::uint64_t> packed_size() const {
    if (type < CL_MEM_OBJECT_IMAGE2D || type > CL_MEM_OBJECT_IMAGE1D_BUFFER) return std::nullopt;
    std::uint64_t size = pixel;
    for (const std::uint64_t axis : whole()) {
      if (__builtin_mul_overflow(size, axis, &size)) return std::nullopt;
    }
    if (size == 0) return std::nullopt;
    return size;
  }
  // REQUIRES: contains() the region, and packed_size() has a value.
  std::uint64_t packed_size(const Extent& region) const { return region[0] * region[1] * region[2] * pixel; }
};

}  // namespace remotecl
