#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/bytes.h"
#include "runtime/protocol/messages/message.h"

namespace remotecl {

// Rows of bytes in this process's memory, possibly with gaps between them. On the wire they are packed.
struct Rows {
  Extent extent;  // bytes in a row, rows in a slice, slices
  std::uint64_t row_pitch;
  std::uint64_t slice_pitch;

  std::uint64_t size() const { return extent[0] * extent[1] * extent[2]; }  // without gaps
  // From the first byte to the end of the last one.
  std::uint64_t span() const { return (extent[2] - 1) * slice_pitch + (extent[1] - 1) * row_pitch + extent[0]; }
  bool is_packed() const { return span() == size(); }

  // Copy a part of the rows at `memory`, beginning with the packed rows' byte `offset`.
  void pack(const std::byte* memory, std::uint64_t offset, MutableBytes packed) const;
  void unpack(Bytes packed, std::byte* memory, std::uint64_t offset) const;
};

}  // namespace remotecl
