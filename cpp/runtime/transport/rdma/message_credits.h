#pragma once

#include <cstdint>

#include "runtime/transport/rdma/queue_pair.h"

namespace remotecl {

// How many messages may be on their way, so that the receiver has a buffer for each: user messages, headers of chunks
// and writes count. Grants, skips and credits do not: there are few of them, they are taken at once, and buffers are
// kept for them. The numbers only grow, and wrap around. One thread at a time.
class MessageCredits {
 public:
  static constexpr std::uint32_t kCounted = 64;
  static_assert(kCounted < QueuePair::kReceives);

  bool may_send() const { return sent_ != limit_; }
  void note_sent() { ++sent_; }
  // The peer's word; false when it is impossible.
  bool set_limit(std::uint32_t limit) {
    if (limit - sent_ > kCounted) return false;
    limit_ = limit;
    return true;
  }

  void note_taken() { ++taken_; }
  std::uint32_t limit_for_peer() const { return taken_ + kCounted; }
  void note_told() { told_ = taken_; }
  bool should_tell() const { return taken_ - told_ >= kCounted / 2; }

 private:
  std::uint32_t sent_ = 0;
  std::uint32_t limit_ = kCounted;
  std::uint32_t taken_ = 0;
  std::uint32_t told_ = 0;
};

}  // namespace remotecl
