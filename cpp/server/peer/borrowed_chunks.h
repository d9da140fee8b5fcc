#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>

#include "runtime/base/bytes.h"
#include "runtime/crypto/digest.h"
#include "runtime/handshake/handshake.h"

namespace remotecl::server {

class PeerLink;

// How fast a peer's chunks came lately. Any thread.
class BorrowingSpeed {
 public:
  using Clock = std::chrono::steady_clock;

  // No bytes say nothing, except of a peer that has not answered in time.
  void measured(std::uint64_t bytes, Clock::duration time, bool is_silent);
  // `bytes_per_s` 0: whether it has been silent. False if nothing is known: links change, so that a measurement counts
  // for some seconds only.
  bool is_below(std::uint64_t bytes_per_s) const;

 private:
  static constexpr std::chrono::seconds kCounts{10};

  std::atomic<std::uint64_t> bytes_per_s_{0};
  std::atomic<Clock::rep> measured_at_{0};
};

// Asks a peer for chunks that the client has lent to this server, and calls `take` for each that has come before the
// deadline, on the calling thread. Some questions are ahead, so that the link is not idle while a chunk is taken.
void borrow_chunks(PeerLink& link, std::uint64_t loan, std::span<const Digest> wanted, Deadline deadline,
                   const std::function<void(std::size_t index, Bytes)>& take);

}  // namespace remotecl::server
