#include "runtime/schedule/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace remotecl::schedule {
namespace {

// How strongly a piece's speed changes the one that is known.
constexpr double kLearning = 0.5;
// Until a device's speed is measured; afterwards next_piece()'s own. Speeds that are wrong by this much do no harm.
constexpr double kFirstDivisor = 8;
constexpr double kDivisor = 2;

}  // namespace

std::vector<Piece> split_in_proportion(std::span<const double> speeds, std::uint64_t items, std::uint64_t granularity) {
  const std::uint64_t groups = items / granularity + (items % granularity != 0);
  const double sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<std::uint64_t> shares(speeds.size());
  std::vector<std::pair<double, std::size_t>> remainders;
  std::uint64_t dealt = 0;
  for (std::size_t at = 0; at < speeds.size(); ++at) {
    const double exact = static_cast<double>(groups) * (speeds[at] / sum);
    shares[at] = std::min(static_cast<std::uint64_t>(exact), groups - dealt);
    dealt += shares[at];
    if (speeds[at] > 0) remainders.emplace_back(static_cast<double>(shares[at]) - exact, at);
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t at = 0; dealt < groups; at = (at + 1) % remainders.size(), ++dealt) ++shares[remainders[at].second];

  std::vector<Piece> pieces;
  std::uint64_t begin = 0;
  for (std::size_t at = 0; at < speeds.size(); ++at) {
    if (shares[at] == 0) continue;
    const std::uint64_t left = items - begin;
    const std::uint64_t size = shares[at] > left / granularity ? left : shares[at] * granularity;
    pieces.push_back({static_cast<std::uint32_t>(at), begin, size});
    begin += size;
  }
  return pieces;
}

std::uint64_t next_piece(std::span<const double> speeds, std::size_t device, std::uint64_t remaining,
                         std::uint64_t granularity, std::uint64_t piece_min, double divisor) {
  const double share = speeds[device] / std::accumulate(speeds.begin(), speeds.end(), 0.0);
  const auto wanted = static_cast<std::uint64_t>(static_cast<double>(remaining) * share / divisor);
  const std::uint64_t size = std::max({wanted, piece_min, std::uint64_t{1}});
  if (size >= remaining) return remaining;
  const std::uint64_t groups = size / granularity + (size % granularity != 0);
  return groups > remaining / granularity ? remaining : groups * granularity;
}

Division::Division(std::vector<double> speeds, std::uint64_t items, std::uint64_t granularity, std::uint64_t piece_min)
    : expected_(std::move(speeds)),
      measured_(expected_.size()),
      speeds_(expected_),
      items_(items),
      granularity_(granularity),
      piece_min_(piece_min) {}

Piece Division::take(std::uint32_t device) {
  if (!returned_.empty()) {
    Piece piece = returned_.back();
    returned_.pop_back();
    piece.device = device;
    return piece;
  }
  const std::uint64_t count = next_piece(speeds_, device, items_ - next_, granularity_, piece_min_,
                                         measured_[device] > 0 ? kDivisor : kFirstDivisor);
  next_ += count;
  return {device, next_ - count, count};
}

void Division::ended(const Piece& piece, Seconds seconds) {
  if (!(seconds > 0) || !std::isfinite(seconds) || piece.count == 0) return;
  const double speed = static_cast<double>(piece.count) / seconds;
  double& known = measured_[piece.device];
  known = known > 0 ? known + (speed - known) * kLearning : speed;

  double measured = 0, expected = 0;
  for (std::size_t at = 0; at < speeds_.size(); ++at) {
    measured += measured_[at];
    expected += measured_[at] > 0 ? expected_[at] : 0;
  }
  for (std::size_t at = 0; at < speeds_.size(); ++at) {
    speeds_[at] = measured_[at] > 0 ? measured_[at] : expected_[at] * measured / expected;
  }
}

}  // namespace remotecl::schedule
