#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/schedule/ids.h"

namespace remotecl::schedule {

// A set of devices as the words of an IndexSet. Missing words are empty.
using DeviceWords = std::span<const std::uint64_t>;

inline bool contains(DeviceWords words, DeviceId device) {
  return device / 64 < words.size() && (words[device / 64] >> device % 64 & 1) != 0;
}

inline std::size_t device_count(DeviceWords words) {
  std::size_t count = 0;
  for (const std::uint64_t word : words) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}

// Calls f(device) for each device, in order, while it returns true.
template <class F>
void for_each_device_while(DeviceWords words, F&& f) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    for (std::uint64_t left = words[at]; left != 0; left &= left - 1) {
      if (!f(static_cast<DeviceId>(at * 64 + static_cast<std::size_t>(std::countr_zero(left))))) return;
    }
  }
}

}  // namespace remotecl::schedule
