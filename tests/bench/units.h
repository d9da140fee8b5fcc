#pragma once

#include <cstddef>

namespace remotecl::bench {

// Bytes.
inline constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;

}  // namespace remotecl::bench
