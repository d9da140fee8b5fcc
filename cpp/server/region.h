#pragma once

#include <array>
#include <cstdint>

#include "runtime/base/ref_counted.h"
#include "server/buffer.h"
#include "server/cl.h"

namespace remotecl::server {

// The part of a buffer that a read or write names: a range, or a rectangle whose bytes travel packed. Checked
// to lie in the buffer before it is made.
struct Region {
  Ref<Buffer> buffer;
  bool is_rect = false;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // packed
  std::array<std::size_t, 3> origin{};
  std::array<std::size_t, 3> extent{};
  std::size_t row_pitch = 0;
  std::size_t slice_pitch = 0;

  cl_int read(Device& device, cl_command_queue queue, void* to, cl_uint wait_count, const cl_event* waits,
              cl_event* event) const {
    cl_mem memory = nullptr;
    const cl_int error = buffer->native(device, memory);
    if (error != CL_SUCCESS) return error;
    if (!is_rect) return clEnqueueReadBuffer(queue, memory, CL_FALSE, offset, size, to, wait_count, waits, event);
    return clEnqueueReadBufferRect(queue, memory, CL_FALSE, origin.data(), kHostOrigin.data(), extent.data(), row_pitch,
                                   slice_pitch, extent[0], extent[0] * extent[1], to, wait_count, waits, event);
  }

  cl_int write(Device& device, cl_command_queue queue, const void* from, cl_uint wait_count, const cl_event* waits,
               cl_event* event) const {
    cl_mem memory = nullptr;
    const cl_int error = buffer->native(device, memory);
    if (error != CL_SUCCESS) return error;
    if (!is_rect) {
      return clEnqueueWriteBuffer(queue, memory, CL_FALSE, offset, size, from, wait_count, waits, event);
    }
    return clEnqueueWriteBufferRect(queue, memory, CL_FALSE, origin.data(), kHostOrigin.data(), extent.data(),
                                    row_pitch, slice_pitch, extent[0], extent[0] * extent[1], from, wait_count, waits,
                                    event);
  }

  static constexpr std::array<std::size_t, 3> kHostOrigin{};
};

}  // namespace remotecl::server
