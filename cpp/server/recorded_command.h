#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "runtime/base/ref_counted.h"
#include "server/buffer.h"
#include "server/cl.h"
#include "server/kernel.h"

namespace remotecl::server {

// The native events that an enqueue waits for and, where not null, where its own goes.
struct EventArguments {
  cl_uint count;
  const cl_event* list;
  cl_event* event;
};

// The commands of a recording: everything that the driver wants to know is at hand, so that carrying one out is one
// call. They keep the buffers that they use. Need the session's lock.

struct RecordedKernel {
  using Sizes = std::array<std::size_t, 3>;

  std::unique_ptr<DeviceKernel> kernel;  // of this command alone: nobody else sets its arguments
  std::vector<Ref<Buffer>> buffers;
  cl_uint dimensions;
  bool has_local;
  Sizes offset, global, local;

  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const {
    return clEnqueueNDRangeKernel(queue, kernel->native, dimensions, offset.data(), global.data(),
                                  has_local ? local.data() : nullptr, events.count, events.list, events.event);
  }
};

struct RecordedCopy {
  Ref<Buffer> source, destination;
  cl_mem from, to;
  std::size_t source_offset, destination_offset, size;

  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const {
    return clEnqueueCopyBuffer(queue, from, to, source_offset, destination_offset, size, events.count, events.list,
                               events.event);
  }
};

struct RecordedCopyRect {
  using Sizes = std::array<std::size_t, 3>;

  Ref<Buffer> source, destination;
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

  Ref<Buffer> buffer;
  cl_mem memory;
  std::size_t offset, size;
  std::array<std::byte, kPatternSizeMax> pattern;
  std::size_t pattern_size;

  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const {
    return clEnqueueFillBuffer(queue, memory, pattern.data(), pattern_size, offset, size, events.count, events.list,
                               events.event);
  }
};

// A barrier, or a command that does nothing: only says what waits for what.
struct RecordedPoint {
  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const {
    return clEnqueueMarkerWithWaitList(queue, events.count, events.list, events.event);
  }
};

using RecordedStep = std::variant<RecordedPoint, RecordedKernel, RecordedCopy, RecordedCopyRect, RecordedFill>;

}  // namespace remotecl::server
