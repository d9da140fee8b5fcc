#pragma once

#include <cstdint>

#include "extras/rdma/queue_pair.h"

namespace remotecl {

// Limits the writes in flight, so that the receiver has a buffer for each. Grants, skips and credits do not count: they
// are few, they are processed at once, and have reserved buffers. The numbers only grow, and wrap around. One thread at
// a time.
class MessageCredits {
 public:
  static constexpr std::uint32_t kCounted = 64;
  static_assert(kCounted < QueuePair::kReceives);

  bool may_send() const { return sent_ != limit_; }
  void note_sent() { ++sent_; }
  // Sets the limit that the peer reports. Returns false if it is impossible.
  bool set_limit(std::uint32_t limit) {
    if (limit - sent_ > kCounted) return false;
    limit_ = limit;
    return true;
  }

  void note_taken() { ++taken_; }
  std::uint32_t limit_for_peer() const { return taken_ + kCounted; }
  void note_limit_reported() { reported_ = taken_; }
  bool should_report_limit() const { return taken_ - reported_ >= kCounted / 2; }

 private:
  std::uint32_t sent_ = 0;
  std::uint32_t limit_ = kCounted;
  std::uint32_t taken_ = 0;
  std::uint32_t reported_ = 0;
};

}  // namespace remotecl
