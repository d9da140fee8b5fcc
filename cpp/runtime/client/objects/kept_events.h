#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "runtime/protocol/messages.h"

namespace remotecl {

// The newest events of a queue that its server has even if nobody holds them here. Not thread-safe.
class KeptEvents {
 public:
  struct Entry {
    std::uint64_t sequence = 0;  // the command's position in the queue
    EventId event = 0;           // 0: the entry is empty
  };

  // Returns the oldest entry, which the new one replaces.
  Entry add(Entry newest) { return std::exchange(entries_[oldest_++ % entries_.size()], newest); }
  // Returns 0 if the command's event is not kept.
  EventId find(std::uint64_t sequence) const {
    const auto at = std::ranges::find(entries_, sequence, &Entry::sequence);
    return at == entries_.end() ? 0 : at->event;
  }
  const auto& entries() const { return entries_; }

 private:
  std::array<Entry, 16> entries_;
  std::size_t oldest_ = 0;
};

}  // namespace remotecl
