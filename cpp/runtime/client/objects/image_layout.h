#pragma once

#include <CL/cl.h>

#include <cstdint>

#include "runtime/client/support/rectangle.h"
#include "runtime/protocol/image_shape.h"

namespace remotecl {

// Bytes from row to row and from slice to slice. A slice is a layer of an array or of a 3D image; other
// images are one slice.
struct Pitches {
  std::uint64_t row;
  std::uint64_t slice;

  friend bool operator==(const Pitches&, const Pitches&) = default;
};

// An image's format and extent, and the pitches of its pixels in the memory that it was created from (the
// application's or a buffer's); packed otherwise. A value; knows nothing of devices.
struct ImageLayout {
  cl_image_format format;
  ImageShape shape;
  Pitches pitches;

  // The description must have been checked.
  ImageLayout(const cl_image_format& format, const cl_image_desc& description);

  // A region in bytes: bytes in a row, rows in a slice, slices.
  Extent bytes(const Extent& region) const { return shape.rows(region); }
  // The pitches that the application means for a region: 0 stands for packed.
  Pitches pitches_for(const Extent& region, std::uint64_t row_pitch, std::uint64_t slice_pitch) const;
  Pitches packed_pitches() const { return pitches_for(shape.whole(), 0, 0); }
  // The position of the pixel at `origin` in memory with these pitches.
  Rectangle at(const Extent& origin, const Pitches& in) const;
  // The bytes of that memory from the first pixel to the last.
  std::uint64_t size() const { return at({0, 0, 0}, pitches).extent(bytes(shape.whole())); }
  // Whether that memory has no gaps.
  bool is_packed() const { return size() == *shape.packed_size(); }
  bool is_whole(const Extent& region) const { return region == shape.whole(); }
};

}  // namespace remotecl
