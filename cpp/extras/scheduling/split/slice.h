#pragma once

#include <cstdint>

namespace remotecl {

// Which bytes of an argument's buffer a work-item touches. The work-item with the global id i, in the divided
// dimension, touches `item_bytes` bytes from i * item_bytes on. If the kernel does not write the buffer, it may also
// read those of `before` items before it and of `after` items after it.
struct Slice {
  std::uint32_t argument = 0;
  bool overwrites = false;  // the kernel writes all bytes of the slice and reads none
  std::uint64_t item_bytes = 0;
  std::uint64_t before = 0, after = 0;
};

}  // namespace remotecl
