#pragma once

#include <chrono>
#include <cstdint>

namespace remotecl::server {

inline std::uint64_t milliseconds_since(std::chrono::steady_clock::time_point begin) {
  const auto passed = std::chrono::steady_clock::now() - begin;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(passed).count());
}

}  // namespace remotecl::server
