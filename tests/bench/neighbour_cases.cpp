#include <algorithm>
#include <memory>

#include "cases.h"
#include "startup_probe.h"

namespace remotecl::bench {
namespace {

constexpr int kRounds = 100;

// The longest of many: about their p99.
double longest_no_op(const ClSide& side) {
  double longest = 0;
  for (int i = 0; i < kRounds; ++i) {
    const Stopwatch watch;
    ClSide::enqueue(side.queue(), side.no_op());
    ClSide::finish(side.queue());
    longest = std::max(longest, watch.seconds());
  }
  return longest;
}

// Beside another client of the same server that writes bulk data, or launches kernels, without a pause.
std::optional<Case> beside(const Bench& bench, Neighbour::Kind kind) {
  Case result;
  result.ceiling = Ceiling::kBase;
  result.target = Target{.rule = "5 x the same alone", .base = 5};
  result.plan = {.repetitions = bench.options.quick ? 4u : 30u, .block = 10, .warm_up = 1};
  auto neighbour = std::make_shared<std::unique_ptr<Neighbour>>();
  const ClSide* side = &bench.remotecl;
  result.runners.remotecl = {[side, neighbour, kind] {
                               if (!*neighbour) *neighbour = std::make_unique<Neighbour>(side->choice(), kind);
                               return longest_no_op(*side);
                             },
                             [neighbour] { neighbour->reset(); }};
  result.runners.base = {[side] { return longest_no_op(*side); }, {}};
  return result;
}

}  // namespace

void add_neighbour_cases(std::vector<CaseEntry>& cases) {
  using Kind = Neighbour::Kind;
  cases.push_back(
      {"noop-finish-p99-beside-a-stream", [](const Bench& bench) { return beside(bench, Kind::kStreams); }});
  cases.push_back({"noop-finish-p99-beside-a-flood", [](const Bench& bench) { return beside(bench, Kind::kFloods); }});
}

}  // namespace remotecl::bench
