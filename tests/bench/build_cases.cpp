#include <unistd.h>

#include <cstdint>

#include "cases.h"

namespace remotecl::bench {
namespace {

// A kernel whose text differs for every `salt`, between processes as well, since drivers and servers keep
// their program caches on disk.
std::string source_for(uint64_t salt) {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  static const std::string process = std::to_string(static_cast<unsigned>(getpid()) ^ static_cast<unsigned>(now));
  return "kernel void saxpy(global float* y, global const float* x, float a) {\n"
         "  const size_t i = get_global_id(0);\n"
         "  y[i] += a * x[i] + " +
         process + ".0f + " + std::to_string(salt) + ".0f;\n}\n";
}

uint64_t next_salt() {
  static uint64_t salt = 0;
  return ++salt;
}

// To a kernel object: only then is anything of the program usable.
double build(const ClSide& side, const std::string& source) {
  const Stopwatch watch;
  const Program program = side.build(source);
  const Kernel kernel = side.make_kernel(program, "saxpy");
  return watch.seconds();
}

Case build_case(const Bench& bench, size_t repetitions) {
  Case result;
  result.unit = Unit::kMilliseconds;
  result.plan = {.repetitions = bench.options.quick ? 3 : repetitions, .block = 1, .warm_up = 1};
  return result;
}

std::optional<Case> build_new(const Bench& bench) {
  Case result = build_case(bench, 12);
  result.runners = on_both(bench, [](const ClSide& side) -> Runner {
    return {[&side] { return build(side, source_for(next_salt())); }, {}};
  });
  result.runners.raw = raw_round_trip(bench);
  return result;
}

std::optional<Case> build_known(const Bench& bench) {
  Case result = build_case(bench, 50);
  // The warm-up repetition is the one that makes it known. Each side has its own source, so that none
  // profits from a cache that the other has filled.
  result.runners = on_both(bench, [](const ClSide& side) -> Runner {
    return {[&side, source = source_for(next_salt())] { return build(side, source); }, {}};
  });
  result.runners.raw = raw_round_trip(bench);
  return result;
}

}  // namespace

void add_build_cases(std::vector<CaseEntry>& cases) {
  cases.push_back({"build-new", build_new});
  cases.push_back({"build-known", build_known});
}

}  // namespace remotecl::bench
