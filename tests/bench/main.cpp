#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>

#include "cases.h"
#include "fleet.h"
#include "options.h"
#include "raw_tcp.h"
#include "report.h"
#include "startup_probe.h"

namespace remotecl::bench {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

// In a log, what was being measured last is what did not end.
void show_progress(const std::string& name) {
  static const bool is_terminal = isatty(STDERR_FILENO) == 1;
  if (is_terminal) {
    std::fprintf(stderr, "\r%-32s\r%s", "", name.c_str());
  } else if (!name.empty()) {
    std::fprintf(stderr, "%s\n", name.c_str());
  }
}

// One case's failure is reported and spoils the exit status, but the others still run.
std::vector<Result> measure(const Bench& bench, const std::vector<CaseEntry>& entries,
                            std::vector<std::string>& failures) {
  std::vector<Result> results;
  for (const CaseEntry& entry : entries) {
    if (entry.servers > bench.fleets.server_count()) {
      show_progress("");
      std::fprintf(stderr, "%s: needs %zu servers, see --servers\n", entry.name.c_str(), entry.servers);
      continue;
    }
    show_progress(entry.name);
    try {
      const std::optional<Case> ready = entry.make(bench);
      if (!ready) {
        show_progress("");
        std::fprintf(stderr, "%s: not possible on this device\n", entry.name.c_str());
        continue;
      }
      results.push_back(make_result(entry.name, *ready, run_interleaved(ready->plan, ready->runners)));
    } catch (const std::exception& error) {
      failures.push_back(entry.name + ": " + error.what());
      show_progress("");
      std::fprintf(stderr, "%s\n", failures.back().c_str());
    }
  }
  show_progress("");
  return results;
}

bool shares_memory() {
  const char* const servers = std::getenv("REMOTECL_SERVERS");
  const char* const setting = std::getenv("REMOTECL_SHARED_MEMORY");
  if (servers == nullptr || (setting != nullptr && std::string_view(setting) == "off")) return false;
  return std::string_view(servers).starts_with("127.") || std::string_view(servers).starts_with("localhost");
}

int run(const Options& options) {
  const double load_before = load_average();
  std::vector<CaseEntry> entries = select_cases(options);
  if (options.list) {
    for (const CaseEntry& entry : entries) std::printf("%s\n", entry.name.c_str());
    return 0;
  }
  if (options.rows == Rows::kAll) std::erase_if(entries, [](const CaseEntry& entry) { return entry.is_over_tcp; });
  if (!options.servers.empty()) setenv("REMOTECL_SERVERS", options.servers.c_str(), 1);
  if (options.rows == Rows::kTcp) setenv("REMOTECL_SHARED_MEMORY", "off", 1);
  remember_environment();
  RawPeer raw;
  const ClSide remotecl(find_device(options.remote_platform, options.device_index));
  const std::optional<DeviceChoice> native_choice = find_native_device(remotecl.choice(), options.native_platform);
  if (!native_choice && !options.native_platform.empty()) {
    throw ClError("no platform like \"" + options.native_platform + "\" has a device to compare with");
  }
  std::optional<ClSide> native;
  if (native_choice) native.emplace(*native_choice);
  Fleets fleets(remotecl.choice(), native_choice);
  const Bench bench{options, remotecl, native ? &*native : nullptr, raw, fleets, shares_memory()};

  print_header(bench, load_before);
  std::vector<std::string> failures;
  std::vector<Result> results = measure(bench, entries, failures);
  if (const std::optional<Result> stall = make_stall_result(results)) results.push_back(*stall);
  print_table(results);
  if (!options.json_path.empty()) write_json(options.json_path, bench, load_before, results, failures);
  return failures.empty() ? 0 : kFailed;
}

}  // namespace
}  // namespace remotecl::bench

int main(int argc, char** argv) {
  using namespace remotecl::bench;
  const Stopwatch since_main;
  Options options;
  if (const std::optional<int> status = parse_options(argc, argv, options)) return *status;
  if (options.probe_streams) return run_streaming_probe(options);
  if (options.probe_floods) return run_flooding_probe(options);
  if (!options.probe_platform.empty()) return run_startup_probe(options, since_main);
  try {
    return run(options);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "remotecl-bench: %s\n", error.what());
    return kWrongUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "remotecl-bench: %s\n", error.what());
    return kFailed;
  }
}
