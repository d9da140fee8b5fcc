#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "server/completion/cl.h"
#include "server/memory/image_copy.h"
#include "server/program/kernel.h"

namespace remotecl::server {

// The commands of a recording. They keep everything that the driver needs, so that executing one is a single
// call, and the objects that they use. Need the session's lock.

struct RecordedKernel {
  using Sizes = std::array<std::size_t, 3>;

  std::unique_ptr<DeviceKernel> kernel;         // of this command alone: nothing else sets its arguments
  std::shared_ptr<ArgumentSnapshot> arguments;  // the arguments that the native kernel got
  bool prints;
  cl_uint dimensions;
  bool has_local;
  Sizes offset, global, local;

  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const {
    return clEnqueueNDRangeKernel(queue, kernel->native, dimensions, offset.data(), global.data(),
                                  has_local ? local.data() : nullptr, events.count, events.list, events.event);
  }
};

struct RecordedCopy {
  Ref<Memory> source, destination;
  cl_mem from, to;
  std::size_t source_offset, destination_offset, size;

  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const {
    return clEnqueueCopyBuffer(queue, from, to, source_offset, destination_offset, size, events.count, events.list,
                               events.event);
  }
};

struct RecordedCopyRect {
  using Sizes = std::array<std::size_t, 3>;

  Ref<Memory> source, destination;
  cl_mem from, to;
  Sizes source_origin, destination_origin, region;
  std::size_t source_row_pitch, source_slice_pitch, destination_row_pitch, destination_slice_pitch;

  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const {
    return clEnqueueCopyBufferRect(queue, from, to, source_origin.data(), destination_origin.data(), region.data(),
                                   source_row_pitch, source_slice_pitch, destination_row_pitch, destination_slice_pitch,
                                   events.count, events.list, events.event);
  }
};

struct RecordedFill {
  static constexpr std::size_t kPatternSizeMax = 128;

  Ref<Memory> buffer;
  cl_mem memory;
  std::size_t offset, size;
  std::array<std::byte, kPatternSizeMax> pattern;
  std::size_t pattern_size;

  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const {
    return clEnqueueFillBuffer(queue, memory, pattern.data(), pattern_size, offset, size, events.count, events.list,
                               events.event);
  }
};

// Between images, or between an image and a buffer.
struct RecordedCopyPixels {
  using Sizes = std::array<std::size_t, 3>;

  Place source, destination;
  cl_mem from, to;
  Sizes region;
  std::size_t size;  // bytes

  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const {
    return copy_pixels(queue, source, from, destination, to, region, size, events);
  }
};

struct RecordedFillImage {
  using Sizes = std::array<std::size_t, 3>;

  Ref<Memory> image;
  cl_mem memory;
  Sizes origin, region;
  std::array<std::uint32_t, 4> color;

  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const {
    return clEnqueueFillImage(queue, memory, color.data(), origin.data(), region.data(), events.count, events.list,
                              events.event);
  }
};

// A barrier, or a command that does nothing: only orders other commands.
struct RecordedPoint {
  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const {
    return clEnqueueMarkerWithWaitList(queue, events.count, events.list, events.event);
  }
};

using RecordedStep =  //
    std::variant<RecordedPoint, RecordedKernel, RecordedCopy, RecordedCopyRect, RecordedFill, RecordedCopyPixels,
                 RecordedFillImage>;

}  // namespace remotecl::server
