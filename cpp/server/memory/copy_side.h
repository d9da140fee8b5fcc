#pragma once

#include <cstdint>

#include "server/memory/buffer.h"
#include "server/memory/extent.h"
#include "server/memory/image.h"

namespace remotecl::server {

// One side of a copy: pixels of an image, or packed pixels in a buffer. The pixels of a 1D buffer image are
// handled as packed ones, because PoCL refuses most commands on such images and crashes on some.
struct CopySide {
  Ref<Memory> memory;
  bool is_image;
  std::uint64_t offset;
  Sizes origin;

  static CopySide of(const Ref<Image>& image, const Extent& origin, const Device& device) {
    if (Buffer* bytes = image->bytes()) return of(Ref<Buffer>(bytes), origin[0] * image->shape().pixel, device);
    return {Ref<Memory>(image.get()), true, 0, sizes_of(origin)};
  }
  static CopySide of(const Ref<Buffer>& buffer, std::uint64_t offset, const Device& device) {
    const Ref<Buffer> copied = buffer->copied(device, offset);
    return {Ref<Memory>(copied.get()), false, offset, {}};
  }
};

}  // namespace remotecl::server
