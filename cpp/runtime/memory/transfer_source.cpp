#include "runtime/memory/transfer_source.h"

#include <algorithm>

namespace remotecl {
namespace {

// Up to this size latency dominates: the host is the nearest, and waits for nothing.
constexpr std::uint64_t kSmall = 64u << 10;

// Relative cost of each byte. Links between servers are assumed to be a little faster than those to the
// client. Thus, if two servers need the same bytes, the client sends to one and that one to the other.
double cost(const TransferSource& source, std::uint64_t size) {
  constexpr double kCosts[] = {1, 4, 6, 16};
  constexpr double kArriving = 0.5;  // the bytes arrive there a little later
  constexpr double kHeld = 1000;
  if (source.route == Route::kHost && size <= kSmall) return 0;
  const double share = source.route == Route::kPeer ? 1 + source.busy : 1;
  return kCosts[static_cast<int>(source.route)] * share + (source.arriving ? kArriving : 0) + (source.held ? kHeld : 0);
}

}  // namespace

std::size_t cheapest_source(std::span<const TransferSource> sources, std::uint64_t size) {
  const auto cheaper = [size](const TransferSource& one, const TransferSource& other) {
    return cost(one, size) < cost(other, size);
  };
  return static_cast<std::size_t>(std::min_element(sources.begin(), sources.end(), cheaper) - sources.begin());
}

}  // namespace remotecl
