#pragma once

#include <vector>

#include "icd/memory_flags.h"
#include "runtime/client/objects/command_queue.h"
#include "runtime/client/objects/context.h"
#include "runtime/client/objects/image_layout.h"
#include "runtime/client/objects/memory_object.h"

// The checks of clCreateImage and its relatives, and of commands on images.
namespace remotecl::icd {

// The formats that any device of the context supports, in the order of its devices. Devices that give no answer,
// because their server is lost for example, are left out, unless none gives one.
std::vector<cl_image_format> context_formats(Context& context, cl_mem_flags flags, cl_mem_object_type type);

// The layout of an image, or the error if it cannot be created. `buffer`: what it is made from, or null.
ImageLayout checked_layout(Context& context, cl_mem_flags flags, const cl_image_format* format,
                           const cl_image_desc* description, const void* host_ptr, MemoryObject*& buffer);

// The checked arguments of commands; the functions are defined next to those commands.
struct ImageCopy {
  MemoryObject& source;
  MemoryObject& destination;
  Extent source_origin, destination_origin, region;
};
ImageCopy checked_image_copy(CommandQueue& queue, cl_mem source, cl_mem destination, const std::size_t* source_origin,
                             const std::size_t* destination_origin, const std::size_t* region);
struct ImageFill {
  MemoryObject& image;
  std::array<std::uint32_t, 4> color;
  Extent origin, region;
};
ImageFill checked_image_fill(CommandQueue& queue, cl_mem image, const void* color, const std::size_t* origin,
                             const std::size_t* region);
// A copy between an image and a buffer, in either direction.
struct PixelCopy {
  MemoryObject& image;
  MemoryObject& buffer;
  Extent origin, region;
};
PixelCopy checked_pixel_copy(CommandQueue& queue, cl_mem image, cl_mem buffer, const std::size_t* origin,
                             const std::size_t* region, std::size_t offset);

// Checks that a command on this device may use the image.
void require_takes_image(Device& device, const MemoryObject& image);

}  // namespace remotecl::icd
