#include "runtime/client/support/rows.h"

#include <algorithm>
#include <cstring>

namespace remotecl {
namespace {

// Calls copy(position in memory, position among `size` packed bytes, number of bytes) for each row, or part of
// one.
template <class Copy>
void for_each_row(const Rows& rows, std::uint64_t offset, std::uint64_t size, Copy&& copy) {
  const Extent& extent = rows.extent;
  std::uint64_t x = offset % extent[0], y = offset / extent[0] % extent[1], z = offset / extent[0] / extent[1];
  for (std::uint64_t done = 0; done < size;) {
    const std::uint64_t count = std::min(extent[0] - x, size - done);
    copy(z * rows.slice_pitch + y * rows.row_pitch + x, done, count);
    done += count;
    x = 0;
    if (++y == extent[1]) {
      y = 0;
      ++z;
    }
  }
}

}  // namespace

void Rows::pack(const std::byte* memory, std::uint64_t offset, MutableBytes packed) const {
  for_each_row(*this, offset, packed.size(), [&](std::uint64_t at, std::uint64_t done, std::uint64_t count) {
    std::memcpy(packed.data() + done, memory + at, count);
  });
}

void Rows::unpack(Bytes packed, std::byte* memory, std::uint64_t offset) const {
  for_each_row(*this, offset, packed.size(), [&](std::uint64_t at, std::uint64_t done, std::uint64_t count) {
    std::memcpy(memory + at, packed.data() + done, count);
  });
}

}  // namespace remotecl
