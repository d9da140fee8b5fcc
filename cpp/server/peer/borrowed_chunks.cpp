#include "server/peer/borrowed_chunks.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "server/peer/peer_link.h"

namespace remotecl::server {
namespace {

// Questions in flight. Their answers take memory, and other messages of the link may wait behind them.
constexpr std::size_t kAhead = 4;

}  // namespace

void BorrowingSpeed::measured(std::uint64_t bytes, Clock::duration time, bool is_silent) {
  const double seconds = std::chrono::duration<double>(time).count();
  if ((bytes == 0 && !is_silent) || seconds <= 0) return;
  bytes_per_s_ = static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds);
  measured_at_ = Clock::now().time_since_epoch().count();
}

bool BorrowingSpeed::is_below(std::uint64_t bytes_per_s) const {
  const Clock::time_point measured_at{Clock::duration(measured_at_)};
  return bytes_per_s_ < std::max<std::uint64_t>(bytes_per_s, 1) && Clock::now() - measured_at < kCounts;
}

void borrow_chunks(PeerLink& link, std::uint64_t loan, std::span<const Digest> wanted, Deadline deadline,
                   const std::function<void(std::size_t index, Bytes)>& take) {
  using Clock = BorrowingSpeed::Clock;
  const auto begun = Clock::now();
  std::uint64_t size = 0;
  std::deque<std::uint64_t> questions;
  std::size_t asked = 0;
  bool is_silent = false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    while (asked < wanted.size() && questions.size() < kAhead && Clock::now() < deadline) {
      questions.push_back(link.ask_chunk(loan, wanted[asked++]));
    }
    if (questions.empty()) break;
    const std::vector<std::byte> bytes = link.chunks().await(questions.front(), deadline);
    questions.pop_front();
    if (!bytes.empty()) take(i, bytes);
    is_silent = is_silent || (bytes.empty() && Clock::now() >= deadline);
    size += bytes.size();
  }
  link.borrowing_speed().measured(size, Clock::now() - begun, is_silent);
}

}  // namespace remotecl::server
