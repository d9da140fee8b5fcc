#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "runtime/base/bytes.h"

namespace remotecl {

using Secret = std::array<std::uint8_t, 16>;

// Uses the system's random generator. Throws std::system_error.
void fill_random(MutableBytes bytes);
Secret random_secret();

// Compares in constant time. Both must have the same size.
bool same_bytes(Bytes left, Bytes right);
inline bool same_secret(const Secret& left, const Secret& right) {
  return same_bytes(std::as_bytes(std::span(left)), std::as_bytes(std::span(right)));
}

}  // namespace remotecl
