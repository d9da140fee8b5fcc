#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace remotecl::testing {

// What happens to clients and daemons in one round, and when: the same for the same seed.
struct KillPlan {
  static constexpr unsigned kServers = 3;
  // What a daemon takes at most, on a machine of any size.
  static constexpr unsigned kStreamsMax = 3;

  struct Step {
    enum class Kind { kKillServer, kStartServer, kStopServer, kContinueServer, kKillClient, kStartClient };
    std::chrono::milliseconds at;  // since the clients are ready
    Kind kind;
    unsigned which = 0;
  };

  explicit KillPlan(std::uint64_t seed);

  std::string window_text() const;  // in seconds
  std::string text() const;

  std::uint64_t seed;
  bool shares_memory;                // between clients and daemons
  unsigned streams;                  // REMOTECL_BULK_STREAMS of the clients
  std::chrono::milliseconds window;  // REMOTECL_RECONNECT of the clients
  int clients = 1;
  std::vector<Step> steps;  // in their order

 private:
  void add(std::chrono::milliseconds at, Step::Kind kind, unsigned which = 0) { steps.push_back({at, kind, which}); }
  void add_kills(std::mt19937_64& random);
};

}  // namespace remotecl::testing
