#pragma once

#include <atomic>
#include <cstdint>

namespace remotecl {

// The next id for an object, event, transfer or token. Unique in this process, so that servers can refer to
// each other's events, and never 0.
inline std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace remotecl
