#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/client/commands/commands.h"

namespace remotecl {

// How many items a work-group may have: at all, and in each dimension.
struct GroupLimits {
  // Lowers them to what this device can do.
  void lower(Kernel& kernel, const Device& device) {
    const auto at_most = [](std::uint64_t& limit, std::uint64_t other) {
      if (other != 0) limit = std::min(limit, other);
    };
    at_most(items, kernel.info_on(device).work_group_size);
    std::size_t sizes[3]{};
    if (const auto* native = device.info(CL_DEVICE_MAX_WORK_ITEM_SIZES)) {
      std::memcpy(sizes, native->data(), std::min(native->size(), sizeof sizes));
    }
    for (std::size_t i = 0; i < 3; ++i) at_most(sides[i], sizes[i]);
  }

  std::uint64_t items;
  Extent sides;
};

// The work-group for a range that is divided along a dimension into this many parts at least: as long as it may be in
// the first dimension, where neighbours are next to each other in memory, and then in the others. It divides the range
// but for the divided dimension, whose pieces are whole groups.
inline Extent work_group(const NDRange& range, cl_uint dimension, std::uint64_t parts, const GroupLimits& limits) {
  Extent group{1, 1, 1};
  std::uint64_t left = limits.items;
  for (cl_uint i = 0; i < range.dimensions; ++i) {
    std::uint64_t side = std::min(left, limits.sides[i]);
    if (i == dimension) {
      side = std::min(side, range.global[i] / parts);
    } else {
      while (side > 1 && range.global[i] % side != 0) --side;
    }
    group[i] = std::max<std::uint64_t>(side, 1);
    left /= group[i];
  }
  return group;
}

}  // namespace remotecl
