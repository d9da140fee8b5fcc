#pragma once

#include <cstdint>

#include "runtime/base/index_set.h"

namespace remotecl {

// 0 is the host; the devices of a context are 1 to kLocationMax, which bounds what a buffer keeps for each.
using Location = std::uint32_t;
using LocationSet = IndexSet;
inline constexpr Location kHost = 0;
inline constexpr Location kLocationMax = 1024;

}  // namespace remotecl
