#include "server/peer/borrowed_chunks.h"

#include <deque>
#include <vector>

#include "server/peer/peer_link.h"

namespace remotecl::server {
namespace {

// What answers keep in memory, and what other messages of the link may have to wait for.
constexpr std::size_t kAhead = 4;

}  // namespace

void BorrowingSpeed::measured(std::uint64_t bytes, Clock::duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  if (bytes == 0 || seconds <= 0) return;
  bytes_per_s_ = static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds);
  measured_at_ = Clock::now().time_since_epoch().count();
}

bool BorrowingSpeed::is_below(std::uint64_t bytes_per_s) const {
  const Clock::time_point measured_at{Clock::duration(measured_at_)};
  return bytes_per_s_ < bytes_per_s && Clock::now() - measured_at < kCounts;
}

void borrow_chunks(PeerLink& link, std::uint64_t loan, std::span<const Digest> wanted, Deadline deadline,
                   const std::function<void(std::size_t index, Bytes)>& take) {
  const auto begun = BorrowingSpeed::Clock::now();
  std::uint64_t size = 0;
  std::deque<std::uint64_t> questions;
  std::size_t asked = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    while (asked < wanted.size() && questions.size() < kAhead && BorrowingSpeed::Clock::now() < deadline) {
      questions.push_back(link.ask_chunk(loan, wanted[asked++]));
    }
    if (questions.empty()) break;
    const std::vector<std::byte> bytes = link.chunks().await(questions.front(), deadline);
    questions.pop_front();
    if (!bytes.empty()) take(i, bytes);
    size += bytes.size();
  }
  link.borrowing_speed().measured(size, BorrowingSpeed::Clock::now() - begun);
}

}  // namespace remotecl::server
