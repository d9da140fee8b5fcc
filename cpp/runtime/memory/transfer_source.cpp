#include "runtime/memory/transfer_source.h"

#include <algorithm>

namespace remotecl {
namespace {

// Up to here the time is that of messages: this process has the shortest way and waits for nobody.
constexpr std::uint64_t kSmall = 64u << 10;

// Relative times for each byte. Servers are assumed to be better linked with each other than with the client, by a
// little where nothing is known: two receivers of the same bytes are then one transfer from here and one between them.
double cost(const TransferSource& source, std::uint64_t size) {
  constexpr double kCosts[] = {1, 4, 6, 16};
  constexpr double kArriving = 0.5;  // it gets there a little later
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
