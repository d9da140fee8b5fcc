#pragma once

#include <cstdint>

#include "runtime/protocol/image_shape.h"
#include "server/memory/buffer.h"
#include "server/memory/memory.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// A client's image, with memory of its own or made from a buffer.
class Image final : public Memory {
 public:
  // REQUIRES: the shape has a packed size. `row_pitch`: for a 2D image in `buffer`.
  Image(const ImageShape& shape, const cl_image_format& format, std::uint64_t flags, const Ref<Buffer>& buffer,
        std::uint64_t row_pitch, Ref<SessionCounters> counters);

  const ImageShape& shape() const { return shape_; }
  // The buffer that holds the pixels, row by row without gaps, or null.
  Buffer* bytes() const {
    return shape_.type == CL_MEM_OBJECT_IMAGE1D_BUFFER ? static_cast<Buffer*>(parent()) : nullptr;
  }

 private:
  cl_int make(Device& device, Native& native) override REQUIRES(session_lock);

  const ImageShape shape_;
  const cl_image_format format_;
  const std::uint64_t flags_;
  const std::uint64_t row_pitch_;
};

}  // namespace remotecl::server
