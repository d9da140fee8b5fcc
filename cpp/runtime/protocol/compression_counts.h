#pragma once

#include <cstdint>

#include "runtime/protocol/codec.h"

namespace remotecl {

// The bytes that were compressed on one or several bulk streams, before and after. Bytes that traveled as they are do
// not count.
struct CompressionCounts {
  std::uint64_t sent_before = 0, sent_after = 0;
  std::uint64_t received_before = 0, received_after = 0;
  REMOTECL_FIELDS(sent_before, sent_after, received_before, received_after)

  // By how much they became less.
  std::uint64_t sent_less() const { return sent_before - sent_after; }
  std::uint64_t received_less() const { return received_before - received_after; }

  CompressionCounts& operator+=(const CompressionCounts& other) {
    sent_before += other.sent_before, sent_after += other.sent_after;
    received_before += other.received_before, received_after += other.received_after;
    return *this;
  }
  friend bool operator==(const CompressionCounts&, const CompressionCounts&) = default;
};

}  // namespace remotecl
