#pragma once

#include <bit>
#include <cstdint>

namespace remotecl::server {

// How large a network is: both are chosen when it is created. A value.
struct SpaceShape {
  static constexpr std::uint32_t kSocketsMax = 16384;
  static constexpr std::uint32_t kRingBytesMin = 1024;
  static constexpr std::uint32_t kRingBytesMax = 16u << 20;
  static constexpr std::uint64_t kMemoryMax = 4ull << 30;

  std::uint32_t sockets = 64;
  std::uint32_t ring_bytes = 65536;  // in each direction of each socket; a power of two

  bool is_valid() const {
    return sockets >= 1 && sockets <= kSocketsMax && ring_bytes >= kRingBytesMin && ring_bytes <= kRingBytesMax &&
           std::has_single_bit(ring_bytes) && memory_size() <= kMemoryMax;
  }
  // The bytes of the native buffer, to be counted against the limits on device memory.
  std::uint64_t memory_size() const;
  bool operator==(const SpaceShape&) const = default;
};

}  // namespace remotecl::server
