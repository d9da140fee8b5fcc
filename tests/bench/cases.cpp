#include "cases.h"

#include <algorithm>
#include <stdexcept>

#include "pattern.h"

namespace remotecl::bench {

Plan small_plan(const Options& options) {
  if (options.quick) return {.repetitions = 100, .block = 25, .warm_up = 10};
  return {.repetitions = 1000, .block = 100, .warm_up = 100};
}

Runner raw_round_trip(const Bench& bench) {
  return {[&raw = bench.raw] { return raw.round_trip(); }, {}};
}

bool fleets_fit(const Bench& bench, size_t size) {
  return size <= bench.fleets.remotecl().max_allocation() &&
         (!bench.fleets.native() || size <= bench.fleets.native()->max_allocation());
}

Runner copy_runner(const Fleet& fleet, size_t size) {
  struct Buffers {
    Memory from;
    Memory to;
  };
  auto buffers = std::make_shared<Buffers>(Buffers{fleet.make_buffer(size), fleet.make_buffer(size)});
  fleet.produce(0, buffers->from, size, 1);
  fleet.produce(0, buffers->to, size, 2);
  fleet.finish(0);
  return {[buffers, &fleet, size] {
            const Stopwatch watch;
            check(clEnqueueCopyBuffer(fleet.queue(0), buffers->from.get(), buffers->to.get(), 0, 0, size, 0, nullptr,
                                      nullptr),
                  "clEnqueueCopyBuffer");
            fleet.finish(0);
            return watch.seconds();
          },
          {}};
}

std::string on_devices(size_t count) { return " on " + std::to_string(count) + (count == 1 ? " device" : " devices"); }

CaseEntry devices_entry(const std::string& name, Reach reach, std::function<std::optional<Case>(const Bench&)> make) {
  if (reach == Reach::kFirstServer) return {name, std::move(make), 1};
  return {name + "-several", std::move(make), 2};
}

Runner raw_stream(const Bench& bench, size_t size) {
  auto source = std::make_shared<Pattern>(size);
  return {[&raw = bench.raw, source] { return raw.send_bulk(source->data(), source->size()); }, {}};
}

namespace {

// Those that move data are measured without shared memory, too, so that neither way can become slow unseen.
constexpr const char* kMovesData[] = {"noop-finish", "read-4",    "write-4KiB-finish",
                                      "write-1MiB",  "read-1MiB", "write-64",
                                      "read-64",     "halo-",     "scatter-gather"};

bool moves_data(const CaseEntry& entry) {
  const auto begins = [&entry](const char* name) { return entry.name.starts_with(name); };
  return entry.servers == 1 && std::any_of(std::begin(kMovesData), std::end(kMovesData), begins);
}

void add_cases_over_tcp(std::vector<CaseEntry>& cases) {
  const size_t count = cases.size();
  for (size_t index = 0; index < count; ++index) {
    if (moves_data(cases[index])) cases.push_back({cases[index].name + "-tcp", cases[index].make, 1, true});
  }
}

bool has_rows(const CaseEntry& entry, Rows rows) {
  switch (rows) {
    case Rows::kOneServer:
      return entry.servers == 1 && !entry.is_over_tcp;
    case Rows::kSeveralServers:
      return entry.servers > 1;
    case Rows::kTcp:
      return entry.is_over_tcp;
    case Rows::kAll:
      return true;
  }
  return false;
}

}  // namespace

std::vector<CaseEntry> all_cases() {
  std::vector<CaseEntry> cases;
  add_latency_cases(cases);
  add_small_transfer_cases(cases);
  add_pipeline_cases(cases);
  add_command_buffer_cases(cases);
  add_bulk_transfer_cases(cases);
  add_build_cases(cases);
  add_startup_cases(cases);
  add_application_cases(cases);
  add_neighbour_cases(cases);
  add_peer_cases(cases);
  add_fan_out_cases(cases);
  for (const Reach reach : {Reach::kFirstServer, Reach::kAllServers}) {
    add_concurrent_cases(cases, reach);
    add_halo_cases(cases, reach);
    add_scatter_cases(cases, reach);
  }
  add_cases_over_tcp(cases);
  return cases;
}

std::vector<CaseEntry> select_cases(const Options& options) {
  std::vector<CaseEntry> cases = all_cases();
  for (const std::string& name : options.only) {
    const auto fits = [&](const CaseEntry& entry) { return entry.name.starts_with(name); };
    if (std::none_of(cases.begin(), cases.end(), fits)) {
      throw std::invalid_argument("no case is named \"" + name + "\"; --list prints all names");
    }
  }
  std::erase_if(cases, [&](const CaseEntry& entry) {
    if (!has_rows(entry, options.rows)) return true;
    const auto names_it = [&](const std::string& name) { return entry.name.starts_with(name); };
    return !options.only.empty() && std::none_of(options.only.begin(), options.only.end(), names_it);
  });
  return cases;
}

}  // namespace remotecl::bench
