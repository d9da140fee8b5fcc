#pragma once

#include <optional>
#include <string>
#include <vector>

namespace remotecl::bench {

enum class Rows { kAll, kOneServer, kSeveralServers, kTcp };

struct Options {
  std::string json_path;
  std::string servers;
  std::string native_platform;
  std::string remote_platform = "remotecl";
  size_t device_index = 0;
  bool quick = false;
  bool list = false;
  std::vector<std::string> only;
  Rows rows = Rows::kAll;

  // Set when the bench starts itself as a fresh client; see startup_probe.h.
  std::string probe_platform;
  size_t probe_device = 0;
  bool probe_dies = false;
  bool probe_streams = false;
  bool probe_floods = false;
};

// Fills `options`; a value means: exit with it at once (help was printed, or the command line is wrong).
std::optional<int> parse_options(int argc, char** argv, Options& options);

}  // namespace remotecl::bench
