#pragma once

#include <array>
#include <cstdint>

#include "runtime/base/ref_counted.h"
#include "server/completion/cl.h"
#include "server/completion/event_arguments.h"
#include "server/driver/device_turns.h"
#include "server/execution/issue.h"
#include "server/memory/buffer.h"
#include "server/memory/copy_side.h"
#include "server/memory/extent.h"
#include "server/memory/image.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// Commands that live submission and recordings share. They own the objects that they use. resolve() makes the
// objects' native memory on the device; then enqueue() is a single call of the driver, any number of times.

struct CopyBufferCommand {
  Ref<Buffer> source, destination;
  std::size_t source_offset, destination_offset, size;
  cl_mem from = nullptr, to = nullptr;

  double cost() const { return DeviceTurn::cost_of_bytes(size); }
  cl_int resolve(Device& device) REQUIRES(session_lock) {
    const cl_int error = source->native(device, from);
    return error != CL_SUCCESS ? error : destination->native(device, to);
  }
  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const {
    return clEnqueueCopyBuffer(queue, from, to, source_offset, destination_offset, size, events.count, events.list,
                               events.event);
  }
};

struct CopyRectCommand {
  Ref<Buffer> source, destination;
  Sizes source_origin, destination_origin, region;
  std::size_t source_row_pitch, source_slice_pitch, destination_row_pitch, destination_slice_pitch;
  cl_mem from = nullptr, to = nullptr;

  cl_int resolve(Device& device) REQUIRES(session_lock) {
    const cl_int error = source->native(device, from);
    return error != CL_SUCCESS ? error : destination->native(device, to);
  }
  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const {
    return clEnqueueCopyBufferRect(queue, from, to, source_origin.data(), destination_origin.data(), region.data(),
                                   source_row_pitch, source_slice_pitch, destination_row_pitch, destination_slice_pitch,
                                   events.count, events.list, events.event);
  }
};

struct FillBufferCommand {
  static constexpr std::size_t kPatternSizeMax = 128;

  Ref<Buffer> buffer;
  std::size_t offset, size;
  std::array<std::byte, kPatternSizeMax> pattern;
  std::size_t pattern_size;
  cl_mem memory = nullptr;

  double cost() const { return DeviceTurn::cost_of_bytes(size); }
  cl_int resolve(Device& device) REQUIRES(session_lock) { return buffer->native(device, memory); }
  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const {
    return clEnqueueFillBuffer(queue, memory, pattern.data(), pattern_size, offset, size, events.count, events.list,
                               events.event);
  }
};

// Between images, or between an image and a buffer.
struct CopyPixelsCommand {
  CopySide source, destination;
  Sizes region;
  std::size_t size;  // bytes
  cl_mem from = nullptr, to = nullptr;

  cl_int resolve(Device& device) REQUIRES(session_lock) {
    const cl_int error = source.memory->native(device, from);
    return error != CL_SUCCESS ? error : destination.memory->native(device, to);
  }
  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const {
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
};

struct FillImageCommand {
  Ref<Image> image;
  Sizes origin, region;
  std::array<std::uint32_t, 4> color;
  cl_mem memory = nullptr;

  cl_int resolve(Device& device) REQUIRES(session_lock) {
    // The fill would end the daemon and all of its sessions.
    if (image->bytes() != nullptr && device.traits().quirks.crashes_filling_buffer_images) return CL_INVALID_OPERATION;
    return image->native(device, memory);
  }
  cl_int enqueue(cl_command_queue queue, const EventArguments& events) const {
    return clEnqueueFillImage(queue, memory, color.data(), origin.data(), region.data(), events.count, events.list,
                              events.event);
  }
};

// The work items of a kernel's launch.
struct KernelRange {
  cl_uint dimensions;
  bool has_local;
  Sizes offset, global, local;

  cl_int enqueue(cl_command_queue queue, cl_kernel kernel, const EventArguments& events) const {
    return clEnqueueNDRangeKernel(queue, kernel, dimensions, offset.data(), global.data(),
                                  has_local ? local.data() : nullptr, events.count, events.list, events.event);
  }
};

// For the Issuer: executes a command once.
template <class Command>
struct LiveCommand : Command {
  static constexpr bool kLong = false;
  static constexpr bool kRunsKernels = true;  // drivers fill and copy with kernels of their own

  cl_int issue(Issue& issue) REQUIRES(session_lock) {
    const cl_int error = this->resolve(issue.queue.device());
    return error != CL_SUCCESS ? error : this->enqueue(issue.queue.native(), issue.arguments());
  }
};

}  // namespace remotecl::server
