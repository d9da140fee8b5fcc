#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "runtime/protocol/messages.h"
#include "server/memory/buffer.h"

namespace remotecl::server {

// The size of the packed rectangle in bytes, or nothing if it overflows.
inline std::optional<std::uint64_t> packed_size(const Extent& region) {
  std::uint64_t size = 0;
  if (__builtin_mul_overflow(region[0], region[1], &size) || __builtin_mul_overflow(size, region[2], &size)) {
    return std::nullopt;
  }
  return size;
}

// Whether the rectangle is not empty and lies in the buffer. A pitch of 0 means packed, as in OpenCL.
inline bool rect_inside(const Buffer& buffer, const Extent& origin, const Extent& region, std::uint64_t row_pitch,
                        std::uint64_t slice_pitch) {
  if (region[0] == 0 || region[1] == 0 || region[2] == 0) return false;
  if (row_pitch == 0) row_pitch = region[0];
  if (row_pitch < region[0]) return false;
  std::uint64_t slice_min = 0;
  if (__builtin_mul_overflow(row_pitch, region[1], &slice_min)) return false;
  if (slice_pitch == 0) slice_pitch = slice_min;
  if (slice_pitch < slice_min) return false;
  // Finds the last byte: (origin + region - 1) in each direction.
  std::array<std::uint64_t, 3> last;
  for (int i = 0; i < 3; ++i) {
    if (__builtin_add_overflow(origin[i], region[i] - 1, &last[i])) return false;
  }
  std::uint64_t end = 0, rows = 0, slices = 0;
  if (__builtin_mul_overflow(last[1], row_pitch, &rows)) return false;
  if (__builtin_mul_overflow(last[2], slice_pitch, &slices)) return false;
  if (__builtin_add_overflow(rows, slices, &end) || __builtin_add_overflow(end, last[0], &end)) return false;
  return end < buffer.size();
}

}  // namespace remotecl::server
