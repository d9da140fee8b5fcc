#include "runtime/memory/transfer_source.h"

#include <algorithm>

namespace remotecl {
namespace {

// Up to this size latency dominates: the host is the nearest, and waits for nothing.
constexpr std::uint64_t kSmall = 64u << 10;

// Servers pass large data on in pieces of this size.
constexpr double kPiece = 2 << 20;

// What a small message costs the server that sends it, relative to the time until the bytes are there. Nobody
// reports the ends of small transfers, so all count.
constexpr double kSmallSend = 0.2;

// Relative cost of each byte. Links between servers are assumed to be a little faster than those to the
// client. Thus, if two servers need the same bytes, the client sends to one and that one to the other.
double cost(const TransferSource& source, std::uint64_t size) {
  constexpr double kCosts[] = {1, 4, 6, 16};
  constexpr double kHeld = 1000;
  if (source.route == Route::kHost && size <= kSmall) return 0;
  const double unit = kCosts[static_cast<int>(source.route)];
  const double late = source.hops * std::min(1.0, kPiece / static_cast<double>(size));
  double share = 1;
  if (source.route == Route::kPeer || source.route == Route::kHost) {
    share += size <= kSmall ? kSmallSend * source.served : source.busy;
  }
  return unit * (share + late) + (source.held ? kHeld : 0);
}

}  // namespace

std::size_t cheapest_source(std::span<const TransferSource> sources, std::uint64_t size) {
  // Of two equals, whoever has served less: otherwise the first holder would serve everybody in turn.
  const auto cheaper = [size](const TransferSource& one, const TransferSource& other) {
    const double cost_of_one = cost(one, size), cost_of_other = cost(other, size);
    return cost_of_one != cost_of_other ? cost_of_one < cost_of_other : one.served < other.served;
  };
  return static_cast<std::size_t>(std::min_element(sources.begin(), sources.end(), cheaper) - sources.begin());
}

}  // namespace remotecl
