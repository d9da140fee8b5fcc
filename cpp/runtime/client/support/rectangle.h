#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/protocol/messages/message.h"

namespace remotecl {

// A rectangle of memory with pitches, all in bytes. Pitches are never 0 here.
struct Rectangle {
  Extent origin;
  std::uint64_t row_pitch;
  std::uint64_t slice_pitch;
  std::uint64_t begin() const { return origin[2] * slice_pitch + origin[1] * row_pitch + origin[0]; }
  // The bytes from begin() to the end of the last byte.
  std::uint64_t extent(const Extent& region) const {
    return (region[2] - 1) * slice_pitch + (region[1] - 1) * row_pitch + region[0];
  }
};

// Copies rows. `rows`: bytes in a row, rows in a slice, slices.
inline void copy_rows(const Rectangle& from_rectangle, const std::byte* from, const Rectangle& to_rectangle,
                      std::byte* to, const Extent& rows) {
  from += from_rectangle.begin();
  to += to_rectangle.begin();
  for (std::uint64_t z = 0; z < rows[2]; ++z) {
    for (std::uint64_t y = 0; y < rows[1]; ++y) {
      std::memcpy(to + z * to_rectangle.slice_pitch + y * to_rectangle.row_pitch,
                  from + z * from_rectangle.slice_pitch + y * from_rectangle.row_pitch, rows[0]);
    }
  }
}

}  // namespace remotecl
