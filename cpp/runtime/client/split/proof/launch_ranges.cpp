#include "runtime/client/split/proof/launch_ranges.h"

#include <algorithm>
#include <limits>

namespace remotecl::proof {
namespace {

constexpr Interval kAnything{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};

}  // namespace

LaunchRanges::LaunchRanges(const Accesses& accesses, const Launch& launch)
    : accesses_(accesses), launch_(launch), duties_(accesses.duties.size()) {}

bool LaunchRanges::hold(const std::vector<DutyId>& duties) {
  return std::ranges::all_of(duties, [this](DutyId duty) { return holds(duty); });
}

// The recursion ends, because a duty's facts are older than the duty, and so are the duties of those facts.
bool LaunchRanges::holds(DutyId id) {
  if (duties_[id]) return *duties_[id];
  const Duty& duty = accesses_.duties[id];
  const std::vector<Interval> known = symbols(duty.facts);
  const auto range = duty.value.range(known);
  const bool fits = range && range->low >= duty.fits.low && range->high <= duty.fits.high;
  return *(duties_[id] = fits || is_unreachable(known, duty.facts, duty.value));
}

Interval LaunchRanges::base(Symbol symbol, const std::vector<Interval>& before) {
  const SymbolOrigin& origin = accesses_.symbols[symbol];
  if (origin.kind == SymbolOrigin::Kind::kArgument) {
    const auto value = origin.index < launch_.values.size() ? launch_.values[origin.index] : std::nullopt;
    return value ? Interval{*value, *value} : kAnything;
  }
  if (origin.kind == SymbolOrigin::Kind::kGlobalId) {
    const std::uint64_t first = launch_.offset[origin.index], count = launch_.global[origin.index];
    const auto max = static_cast<std::uint64_t>(kAnything.high);
    if (first > max || count > max - first) return kAnything;
    return {static_cast<std::int64_t>(first), static_cast<std::int64_t>(first + count) - 1};
  }
  const auto low = origin.low.range(before), high = origin.high.range(before);
  return low && high ? Interval{low->low, high->high} : kAnything;
}

std::vector<Interval> LaunchRanges::symbols(const std::vector<FactId>& facts) {
  std::vector<Interval> known(accesses_.symbols.size(), kAnything);
  const auto is_loop = [this](Symbol symbol) { return accesses_.symbols[symbol].kind == SymbolOrigin::Kind::kLoop; };
  for (Symbol symbol = 0; symbol < known.size(); ++symbol) {
    if (!is_loop(symbol)) known[symbol] = base(symbol, known);
  }
  for (Symbol symbol = 0; symbol < known.size(); ++symbol) {
    Interval& at = known[symbol];
    if (is_loop(symbol)) at = base(symbol, known);
    for (const FactId id : facts) {
      const Fact& fact = accesses_.facts[id];
      if (fact.symbol != symbol || !hold(fact.duties)) continue;
      const auto bound = fact.bound.range(known);
      if (!bound) continue;
      if (fact.is_upper) {
        at.high = std::min(at.high, bound->high);
      } else {
        at.low = std::max(at.low, bound->low);
      }
    }
  }
  return known;
}

bool LaunchRanges::is_unreachable(const std::vector<Interval>& symbols, const std::vector<FactId>& facts,
                                  const Polynomial& value) {
  for (Symbol symbol = 0; symbol < symbols.size(); ++symbol) {
    const bool counts = value.has(symbol) ||
                        std::ranges::any_of(facts, [&](FactId id) { return accesses_.facts[id].symbol == symbol; });
    if (counts && symbols[symbol].is_empty()) return true;
  }
  return false;
}

}  // namespace remotecl::proof
