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

// How fast a peer's chunks arrived lately. Any thread.
class BorrowingSpeed {
 public:
  using Clock = std::chrono::steady_clock;

  // A measurement without bytes is ignored, unless the peer has not answered in time (`is_silent`).
  void measured(std::uint64_t bytes, Clock::duration time, bool is_silent);
  // Whether chunks came more slowly than this; for 0, whether the peer has been silent. False without a measurement;
  // each one counts for some seconds only, because links change.
  bool is_below(std::uint64_t bytes_per_s) const;

 private:
  static constexpr std::chrono::seconds kCounts{10};

  std::atomic<std::uint64_t> bytes_per_s_{0};
  std::atomic<Clock::rep> measured_at_{0};
};

// Asks a peer for chunks that the client has lent to this server, and calls `take` for each that has come before the
// deadline, on the calling thread. Several questions are in flight, so that the link is not idle while a chunk is
// taken.
void borrow_chunks(PeerLink& link, std::uint64_t loan, std::span<const Digest> wanted, Deadline deadline,
                   const std::function<void(std::size_t index, Bytes)>& take);

}  // namespace remotecl::server
