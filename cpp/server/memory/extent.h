#pragma once

#include <array>
#include <cstddef>

#include "runtime/protocol/messages.h"

namespace remotecl::server {

// An Extent as the driver takes it.
using Sizes = std::array<std::size_t, 3>;

inline Sizes sizes_of(const Extent& extent) { return {extent[0], extent[1], extent[2]}; }

}  // namespace remotecl::server
