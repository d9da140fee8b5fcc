#pragma once

#include <cstdint>
#include <vector>

namespace remotecl {

// Which bytes of an argument's buffer a work-item touches. The work-item with the global id i, in the divided
// dimension, touches `item_bytes` bytes from i * item_bytes on. If the kernel does not write the buffer, it may also
// read those of `before` items before it and of `after` items after it.
struct Slice {
  std::uint32_t argument = 0;
  bool overwrites = false;  // the kernel writes all bytes of the slice and reads none
  std::uint64_t item_bytes = 0;
  std::uint64_t before = 0, after = 0;
  bool is_read_only = false;  // the kernel is known not to write it, whatever its declaration says
};

// What an application declares of a kernel: what its launches touch if they are divided along this dimension.
struct DeclaredSlices {
  std::uint32_t dimension = 0;
  std::vector<Slice> slices;  // none: nothing is declared
};

}  // namespace remotecl
