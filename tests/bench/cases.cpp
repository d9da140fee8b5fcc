#include "cases.h"

#include <algorithm>
#include <stdexcept>

namespace remotecl::bench {

Plan small_plan(const Options& options) {
  if (options.quick) return {.repetitions = 100, .block = 25, .warm_up = 10};
  return {.repetitions = 1000, .block = 100, .warm_up = 100};
}

Runner raw_round_trip(const Bench& bench) {
  return {[&raw = bench.raw] { return raw.round_trip(); }, {}};
}

std::vector<CaseEntry> all_cases() {
  std::vector<CaseEntry> cases;
  add_latency_cases(cases);
  add_small_transfer_cases(cases);
  add_pipeline_cases(cases);
  add_command_buffer_cases(cases);
  add_bulk_transfer_cases(cases);
  add_build_cases(cases);
  add_startup_cases(cases);
  return cases;
}

std::vector<CaseEntry> select_cases(const std::vector<std::string>& only) {
  std::vector<CaseEntry> cases = all_cases();
  if (only.empty()) return cases;
  std::vector<CaseEntry> selected;
  for (const std::string& name : only) {
    const auto fits = [&](const CaseEntry& entry) { return entry.name.rfind(name, 0) == 0; };
    if (std::none_of(cases.begin(), cases.end(), fits)) {
      throw std::invalid_argument("no case is named \"" + name + "\"; --list prints all names");
    }
  }
  for (const CaseEntry& entry : cases) {
    const auto names_it = [&](const std::string& name) { return entry.name.rfind(name, 0) == 0; };
    if (std::any_of(only.begin(), only.end(), names_it)) selected.push_back(entry);
  }
  return selected;
}

}  // namespace remotecl::bench
