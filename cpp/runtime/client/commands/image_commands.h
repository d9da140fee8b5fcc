#pragma once

#include "runtime/client/commands/commands.h"
#include "runtime/client/objects/image_layout.h"

// The commands on images, like those on buffers in commands.h. Origins and regions count pixels.
namespace remotecl {

// `pitches`: of the application's memory.
cl_int enqueue_read_image(CommandQueue& queue, MemoryObject& image, bool blocking, const Extent& origin,
                          const Extent& region, const Pitches& pitches, void* to, WaitList wait, Event** event);
cl_int enqueue_write_image(CommandQueue& queue, MemoryObject& image, bool blocking, const Extent& origin,
                           const Extent& region, const Pitches& pitches, const void* from, WaitList wait,
                           Event** event);
cl_int enqueue_copy_image(CommandQueue& queue, MemoryObject& source, MemoryObject& destination,
                          const Extent& source_origin, const Extent& destination_origin, const Extent& region,
                          WaitList wait, Event** event);
cl_int enqueue_fill_image(CommandQueue& queue, MemoryObject& image, const std::array<std::uint32_t, 4>& color,
                          const Extent& origin, const Extent& region, WaitList wait, Event** event);
cl_int enqueue_copy_image_to_buffer(CommandQueue& queue, MemoryObject& image, MemoryObject& buffer,
                                    const Extent& origin, const Extent& region, std::uint64_t offset, WaitList wait,
                                    Event** event, cl_command_type type = CL_COMMAND_COPY_IMAGE_TO_BUFFER);
cl_int enqueue_copy_buffer_to_image(CommandQueue& queue, MemoryObject& buffer, MemoryObject& image,
                                    std::uint64_t offset, const Extent& origin, const Extent& region, WaitList wait,
                                    Event** event, cl_command_type type = CL_COMMAND_COPY_BUFFER_TO_IMAGE);

// `pitches` receives those of the mapped memory.
cl_int enqueue_map_image(CommandQueue& queue, MemoryObject& image, bool blocking, cl_map_flags flags,
                         const Extent& origin, const Extent& region, WaitList wait, Event** event, Pitches& pitches,
                         void** mapped);
// Like enqueue_unmap, for images.
cl_int enqueue_unmap_image(CommandQueue& queue, MemoryObject& image, void* mapped, WaitList wait, Event** event);

}  // namespace remotecl
