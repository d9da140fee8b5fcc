#include "cases.h"
#include "startup_probe.h"

namespace remotecl::bench {
namespace {

Case startup_case(const Bench& bench, bool after_another) {
  Case result;
  result.unit = Unit::kMilliseconds;
  result.ceiling = Ceiling::kNative;
  result.target = Target{0, 1, 5, "native + 5 ms"};
  result.plan = {.repetitions = bench.options.quick ? 2u : 10u, .block = 1, .warm_up = 1};
  const ClSide* remote = &bench.remotecl;
  result.runners = on_both(bench, [remote, after_another](const ClSide& side) -> Runner {
    const bool sees_servers = &side == remote;
    return {[&side, sees_servers, after_another] {
              if (after_another) start_client(side.choice(), sees_servers, Ending::kKilled);
              return start_client(side.choice(), sees_servers, Ending::kClean);
            },
            {}};
  });
  return result;
}

std::optional<Case> startup(const Bench& bench) { return startup_case(bench, false); }

// Another client is killed with its objects alive; the next one starts at once.
std::optional<Case> startup_after_exit(const Bench& bench) { return startup_case(bench, true); }

}  // namespace

void add_startup_cases(std::vector<CaseEntry>& cases) {
  cases.push_back({"startup-first-kernel", startup});
  cases.push_back({"startup-after-another-exit", startup_after_exit});
}

}  // namespace remotecl::bench
