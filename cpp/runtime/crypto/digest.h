#pragma once

#include <array>
#include <cstdint>

#include "runtime/base/bytes.h"

namespace remotecl {

using Digest = std::array<std::uint8_t, 32>;

// SHA-256. Throws std::bad_alloc.
Digest sha256(Bytes bytes);

}  // namespace remotecl
