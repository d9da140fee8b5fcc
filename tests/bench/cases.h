#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fleet.h"
#include "measure.h"
#include "opencl_side.h"
#include "options.h"
#include "raw_tcp.h"

namespace remotecl::bench {

// What the cases run on. Everything is owned by main.
struct Bench {
  const Options& options;
  const ClSide& remotecl;
  const ClSide* native;  // null where this machine has no such device
  RawPeer& raw;
  Fleets& fleets;
  bool shares_memory;  // the server is on this host, and bulk data may go through memory
};

enum class Unit { kMicroseconds, kMilliseconds, kKernelsPerSecond, kGigabytesPerSecond };

// What the ratio is taken to. A target may be stricter or laxer than the ceiling. kSlower: the slower one of native and
// base.
enum class Ceiling { kRawPlusNative, kNative, kRaw, kBase, kRawPlusBase, kSlower };

// `remotecl` at most (latencies) or at least (rates) raw * x + native * y + constant + base * z + ceiling * w, in the
// case's unit.
struct Target {
  double raw = 0;
  double native = 0;
  double constant = 0;
  std::string rule;
  double base = 0;
  double ceiling = 0;
};

// One measurement, ready to run. Whatever its runners need lives in their captures and goes with it.
struct Case {
  Unit unit = Unit::kMicroseconds;
  double amount = 1;   // kernels or bytes per repetition, for the rates
  bool small = false;  // counts for the rule that nothing small may ever stall
  Ceiling ceiling = Ceiling::kRawPlusNative;
  std::optional<Target> target;
  Plan plan;
  PerSide<Runner> runners;
};

struct CaseEntry {
  std::string name;
  std::function<std::optional<Case>(const Bench&)> make;  // nothing where the device cannot do it
  size_t servers = 1;                                     // how many it takes
  bool is_over_tcp = false;                               // runs only in a process that has no shared memory
};

// Gives each OpenCL side that exists its own runner.
template <typename MakeRunner>
PerSide<Runner> on_both(const Bench& bench, MakeRunner make_runner) {
  PerSide<Runner> runners;
  runners.remotecl = make_runner(bench.remotecl);
  if (bench.native) runners.native = make_runner(*bench.native);
  return runners;
}

template <typename MakeRunner>
PerSide<Runner> on_both_fleets(const Bench& bench, MakeRunner make_runner) {
  PerSide<Runner> runners;
  runners.remotecl = make_runner(bench.fleets.remotecl());
  if (const Fleet* native = bench.fleets.native()) runners.native = make_runner(*native);
  return runners;
}

template <typename MakeRunner>
PerSide<Runner> on_all_devices(const Bench& bench, Reach reach, MakeRunner make_runner) {
  PerSide<Runner> runners;
  runners.remotecl = make_runner(bench.fleets.remotecl_devices(reach));
  if (const Fleet* native = bench.fleets.native_devices(reach)) runners.native = make_runner(*native);
  return runners;
}

// Whether every place of both fleets can have a buffer of this size.
bool fleets_fit(const Bench& bench, size_t size);
// For bulk data: on one device the native driver's migration moves nothing, so its column shows a copy there.
Runner copy_runner(const Fleet& fleet, size_t size);
Runner raw_stream(const Bench& bench, size_t size);

Plan small_plan(const Options& options);
Runner raw_round_trip(const Bench& bench);

// One function per group, each in a file of its own.
void add_latency_cases(std::vector<CaseEntry>& cases);
void add_pipeline_cases(std::vector<CaseEntry>& cases);
void add_command_buffer_cases(std::vector<CaseEntry>& cases);
void add_small_transfer_cases(std::vector<CaseEntry>& cases);
void add_bulk_transfer_cases(std::vector<CaseEntry>& cases);
void add_build_cases(std::vector<CaseEntry>& cases);
void add_startup_cases(std::vector<CaseEntry>& cases);
void add_application_cases(std::vector<CaseEntry>& cases);
void add_neighbour_cases(std::vector<CaseEntry>& cases);
void add_peer_cases(std::vector<CaseEntry>& cases);
void add_fan_out_cases(std::vector<CaseEntry>& cases);
// On all devices of one server, and on those of several.
void add_concurrent_cases(std::vector<CaseEntry>& cases, Reach reach);
void add_halo_cases(std::vector<CaseEntry>& cases, Reach reach);
void add_scatter_cases(std::vector<CaseEntry>& cases, Reach reach);
std::string on_devices(size_t count);  // " on 4 devices"
CaseEntry devices_entry(const std::string& name, Reach reach, std::function<std::optional<Case>(const Bench&)> make);

std::vector<CaseEntry> all_cases();

// The cases that --only and --rows name; throws std::invalid_argument for a name that fits none.
std::vector<CaseEntry> select_cases(const Options& options);

}  // namespace remotecl::bench
