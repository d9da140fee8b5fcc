#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/protocol/sizes.h"

namespace remotecl {

// Counts the bytes of pushed writes that the server has to keep until their commands begin. Any thread.
class PushWindow {
 public:
  // Returns false if the server would have to keep too much.
  bool take_room(std::uint64_t size) {
    const std::uint64_t taken = taken_.load(std::memory_order_relaxed);
    if (pushed_.fetch_add(size, std::memory_order_relaxed) + size - taken <= kPushedBytesMax) return true;
    pushed_.fetch_sub(size, std::memory_order_relaxed);
    return false;
  }
  // Returns true if a push of this size is the only one that the server has not taken yet.
  bool is_only(std::uint64_t size) const {
    return pushed_.load(std::memory_order_relaxed) - taken_.load(std::memory_order_relaxed) <= size;
  }
  // The server reports how many bytes it has taken. Returns false if that is impossible.
  bool taken(std::uint64_t bytes) {
    if (bytes < taken_.load() || bytes > pushed_.load()) return false;
    taken_.store(bytes, std::memory_order_relaxed);
    return true;
  }

 private:
  std::atomic<std::uint64_t> pushed_{0};
  std::atomic<std::uint64_t> taken_{0};
};

}  // namespace remotecl
