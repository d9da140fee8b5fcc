#include "runtime/client/objects/image_parts.h"

#include <algorithm>

namespace remotecl {

ImagePart part_of(const ImageShape& shape, ByteRange range) {
  const Extent whole = shape.whole(), rows = shape.rows(whole);
  const std::uint64_t slice_size = rows[0] * rows[1];
  const std::uint64_t slice = range.offset / slice_size, row = range.offset % slice_size / rows[0];
  const std::uint64_t slices = std::max<std::uint64_t>(range.size / slice_size, 1);
  const std::uint64_t height = range.size / rows[0] / slices;
  if (shape.type == CL_MEM_OBJECT_IMAGE1D_ARRAY) return {{0, slice, 0}, {whole[0], slices, 1}};
  return {{0, row, slice}, {whole[0], height, slices}};
}

std::vector<ByteRange> parts_of(const ImageShape& shape, std::uint64_t size_max) {
  const Extent rows = shape.rows(shape.whole());
  const std::uint64_t slice_size = rows[0] * rows[1], size = slice_size * rows[2];
  const auto multiple = [size_max](std::uint64_t unit) { return std::max<std::uint64_t>(size_max / unit, 1) * unit; };
  const bool has_small_slices = slice_size <= size_max;
  const std::uint64_t block = has_small_slices ? size : slice_size;  // parts do not cross its end
  const std::uint64_t part = std::min(block, multiple(has_small_slices ? slice_size : rows[0]));
  std::vector<ByteRange> parts;
  for (std::uint64_t offset = 0; offset < size; offset += parts.back().size) {
    parts.push_back({offset, std::min(part, block - offset % block)});
  }
  return parts;
}

}  // namespace remotecl
