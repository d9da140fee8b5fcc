#include "extras/scheduling/schedule/split.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace remotecl::schedule {

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

}  // namespace remotecl::schedule
