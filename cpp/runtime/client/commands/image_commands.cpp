// Commands on images, except mapping.
#include "runtime/client/commands/image_commands.h"

#include "runtime/client/commands/device_plans.h"
#include "runtime/client/commands/transfer_plans.h"

namespace remotecl {

cl_int enqueue_read_image(CommandQueue& queue, MemoryObject& image, bool blocking, const Extent& origin,
                          const Extent& region, const Pitches& pitches, void* to, WaitList wait, Event** event) {
  const ImageLayout& layout = *image.image();
  return submit(queue,
                ReadRowsPlan<EnqueueReadImage>{{},
                                               CL_COMMAND_READ_IMAGE,
                                               blocking,
                                               image,
                                               all_of(image),
                                               static_cast<std::byte*>(to),
                                               layout.at({}, pitches),
                                               layout.bytes(region),
                                               {0, 0, image.id(), origin, region, 0, {}}},
                wait, event);
}

cl_int enqueue_write_image(CommandQueue& queue, MemoryObject& image, bool blocking, const Extent& origin,
                           const Extent& region, const Pitches& pitches, const void* from, WaitList wait,
                           Event** event) {
  const ImageLayout& layout = *image.image();
  return submit(queue,
                WriteRowsPlan<EnqueueWriteImage>{{},
                                                 CL_COMMAND_WRITE_IMAGE,
                                                 blocking,
                                                 image,
                                                 all_of(image),
                                                 !overwrites_all(image, region),
                                                 static_cast<const std::byte*>(from),
                                                 layout.at({}, pitches),
                                                 layout.bytes(region),
                                                 {0, 0, image.id(), origin, region, 0, {}, {}}},
                wait, event);
}

cl_int enqueue_copy_image(CommandQueue& queue, MemoryObject& source, MemoryObject& destination,
                          const Extent& source_origin, const Extent& destination_origin, const Extent& region,
                          WaitList wait, Event** event) {
  return submit(queue, CopyImagePlan{{}, source, destination, source_origin, destination_origin, region}, wait, event);
}

cl_int enqueue_fill_image(CommandQueue& queue, MemoryObject& image, const std::array<std::uint32_t, 4>& color,
                          const Extent& origin, const Extent& region, WaitList wait, Event** event) {
  return submit(queue, FillImagePlan{{}, image, color, origin, region}, wait, event);
}

cl_int enqueue_copy_image_to_buffer(CommandQueue& queue, MemoryObject& image, MemoryObject& buffer,
                                    const Extent& origin, const Extent& region, std::uint64_t offset, WaitList wait,
                                    Event** event, cl_command_type type) {
  return submit(queue, CopyPixelsPlan{{}, true, image, buffer, origin, region, offset, type}, wait, event);
}

cl_int enqueue_copy_buffer_to_image(CommandQueue& queue, MemoryObject& buffer, MemoryObject& image,
                                    std::uint64_t offset, const Extent& origin, const Extent& region, WaitList wait,
                                    Event** event, cl_command_type type) {
  return submit(queue, CopyPixelsPlan{{}, false, image, buffer, origin, region, offset, type}, wait, event);
}

}  // namespace remotecl
