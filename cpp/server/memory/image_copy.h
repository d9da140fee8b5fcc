#pragma once

#include <array>
#include <cstdint>

#include "server/completion/event_arguments.h"
#include "server/memory/buffer.h"
#include "server/memory/image.h"

namespace remotecl::server {

// One side of a copy: pixels of an image, or packed pixels in a buffer. The pixels of a 1D buffer image are
// handled as packed ones, because PoCL refuses most commands on such images and crashes on some.
struct Place {
  using Sizes = std::array<std::size_t, 3>;

  Ref<Memory> memory;
  bool is_image;
  std::uint64_t offset;
  Sizes origin;

  static Place of(const Ref<Image>& image, const Extent& origin, const Device& device) {
    if (Buffer* bytes = image->bytes()) return of(Ref<Buffer>(bytes), origin[0] * image->shape().pixel, device);
    return {Ref<Memory>(image.get()), true, 0, {origin[0], origin[1], origin[2]}};
  }
  static Place of(const Ref<Buffer>& buffer, std::uint64_t offset, const Device& device) {
    const Ref<Buffer> copied = buffer->copied(device, offset);
    return {Ref<Memory>(copied.get()), false, offset, {}};
  }
};

// `from` and `to`: the native memory of the two sides. `size`: of the region in bytes.
inline cl_int copy_pixels(cl_command_queue queue, const Place& source, cl_mem from, const Place& destination, cl_mem to,
                          const Place::Sizes& region, std::size_t size, const EventArguments& events) {
  if (source.is_image && destination.is_image) {
    return clEnqueueCopyImage(queue, from, to, source.origin.data(), destination.origin.data(), region.data(),
                              events.count, events.list, events.event);
  }
  if (source.is_image) {
    return clEnqueueCopyImageToBuffer(queue, from, to, source.origin.data(), region.data(), destination.offset,
                                      events.count, events.list, events.event);
  }
  if (destination.is_image) {
    return clEnqueueCopyBufferToImage(queue, from, to, source.offset, destination.origin.data(), region.data(),
                                      events.count, events.list, events.event);
  }
  return clEnqueueCopyBuffer(queue, from, to, source.offset, destination.offset, size, events.count, events.list,
                             events.event);
}

}  // namespace remotecl::server
