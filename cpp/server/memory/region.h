#pragma once

#include <array>
#include <cstdint>

#include "runtime/base/ref_counted.h"
#include "server/completion/cl.h"
#include "server/memory/buffer.h"
#include "server/memory/image.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// The part of a buffer or image that a read or write names: a range, or a rectangle or pixels, which are
// packed on the wire. Checked to lie in the object before it is created.
struct Region {
  Ref<Buffer> buffer;
  bool is_rect = false;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // packed
  std::array<std::size_t, 3> origin{};
  std::array<std::size_t, 3> extent{};
  std::size_t row_pitch = 0;
  std::size_t slice_pitch = 0;
  Ref<Image> image{};  // instead of a buffer; `origin` and `extent` then count pixels

  // Whether it is one contiguous range of a buffer.
  bool is_range() const { return !is_rect && !image; }

  cl_int read(Device& device, cl_command_queue queue, void* to, cl_uint wait_count, const cl_event* waits,
              cl_event* event) const REQUIRES(session_lock) {
    cl_mem memory = nullptr;
    const cl_int error = native(device, memory);
    return error != CL_SUCCESS ? error : read_from(memory, queue, to, wait_count, waits, event);
  }
  cl_int write(Device& device, cl_command_queue queue, const void* from, cl_uint wait_count, const cl_event* waits,
               cl_event* event) const REQUIRES(session_lock) {
    cl_mem memory = nullptr;
    const cl_int error = native(device, memory);
    return error != CL_SUCCESS ? error : write_to(memory, queue, from, wait_count, waits, event);
  }

  // `memory` is the object's on the queue's device.
  cl_int read_from(cl_mem memory, cl_command_queue queue, void* to, cl_uint wait_count, const cl_event* waits,
                   cl_event* event) const {
    if (image) {
      return clEnqueueReadImage(queue, memory, CL_FALSE, origin.data(), extent.data(), 0, 0, to, wait_count, waits,
                                event);
    }
    if (!is_rect) return clEnqueueReadBuffer(queue, memory, CL_FALSE, offset, size, to, wait_count, waits, event);
    return clEnqueueReadBufferRect(queue, memory, CL_FALSE, origin.data(), kHostOrigin.data(), extent.data(), row_pitch,
                                   slice_pitch, extent[0], extent[0] * extent[1], to, wait_count, waits, event);
  }
  cl_int write_to(cl_mem memory, cl_command_queue queue, const void* from, cl_uint wait_count, const cl_event* waits,
                  cl_event* event) const {
    if (image) {
      return clEnqueueWriteImage(queue, memory, CL_FALSE, origin.data(), extent.data(), 0, 0, from, wait_count, waits,
                                 event);
    }
    if (!is_rect) {
      return clEnqueueWriteBuffer(queue, memory, CL_FALSE, offset, size, from, wait_count, waits, event);
    }
    return clEnqueueWriteBufferRect(queue, memory, CL_FALSE, origin.data(), kHostOrigin.data(), extent.data(),
                                    row_pitch, slice_pitch, extent[0], extent[0] * extent[1], from, wait_count, waits,
                                    event);
  }

  static constexpr std::array<std::size_t, 3> kHostOrigin{};

  cl_int native(Device& device, cl_mem& memory) const REQUIRES(session_lock) {
    return image ? image->native(device, memory) : buffer->native(device, memory);
  }
};

}  // namespace remotecl::server
