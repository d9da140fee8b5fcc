#pragma once

#include <vector>

#include "runtime/memory/residency_directory.h"
#include "runtime/protocol/image_shape.h"

namespace remotecl {

// Pixels of an image that lie together when all of them are packed: whole rows of one slice, or whole slices.
struct ImagePart {
  Extent origin, region;
};

// The pixels at a range of the packed bytes, which begins and ends where parts do.
ImagePart part_of(const ImageShape& shape, ByteRange range);
// Divides an image into ranges of packed bytes that each are a part, of at most `size_max` bytes unless one
// row is larger. The first one is the largest.
std::vector<ByteRange> parts_of(const ImageShape& shape, std::uint64_t size_max);

}  // namespace remotecl
