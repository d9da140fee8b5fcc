#include "simulated_cluster.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace remotecl::schedule {

unsigned SharedCluster::all_threads() const { return std::accumulate(threads.begin(), threads.end(), 0u); }

std::vector<std::uint32_t> SharedCluster::kernels() const {
  const double unit = seconds * all_threads() / kernel / (clients * (clients + 1) / 2.0);
  std::vector<std::uint32_t> result;
  for (std::uint32_t client = 1; client <= clients; ++client) {
    result.push_back(std::max(1u, static_cast<std::uint32_t>(std::lround(unit * client))));
  }
  return result;
}

Seconds SharedCluster::lower_bound() const {
  const auto counts = kernels();
  return std::accumulate(counts.begin(), counts.end(), 0.0) * kernel / all_threads();
}

Seconds SharedCluster::fair_end(std::uint32_t client) const {
  const auto counts = kernels();
  double done = 0;  // by all, until then
  for (const std::uint32_t count : counts) done += std::min(count, counts[client]);
  return done * kernel / all_threads();
}

std::vector<DeviceId> SharedCluster::in_turn() const {
  std::vector<DeviceId> devices;
  for (std::uint32_t client = 0; client < clients; ++client) {
    devices.push_back(client % static_cast<DeviceId>(threads.size()));
  }
  return devices;
}

std::vector<DeviceId> SharedCluster::best_static() const {
  const auto counts = kernels();
  std::vector<DeviceId> devices(clients), best;
  double least = INFINITY;
  for (;;) {
    std::vector<double> loads(threads.size());
    for (std::uint32_t client = 0; client < clients; ++client) loads[devices[client]] += counts[client];
    double longest = 0;
    for (std::size_t device = 0; device < loads.size(); ++device) {
      longest = std::max(longest, loads[device] / threads[device]);
    }
    if (longest < least) {
      least = longest;
      best = devices;
    }
    std::uint32_t client = 0;
    while (client < clients && ++devices[client] == threads.size()) devices[client++] = 0;
    if (client == clients) return best;
  }
}

SharedCluster::Outcome SharedCluster::run(const std::vector<DeviceId>& devices, std::string_view policy) const {
  SimulatedClock clock;
  std::vector<std::unique_ptr<SimulatedServer>> servers;
  std::vector<double> speeds;
  for (const unsigned count : threads) {
    servers.push_back(std::make_unique<SimulatedServer>(clock, count));
    speeds.push_back(says_speed ? count : 1);
  }
  std::vector<std::unique_ptr<SimulatedProgram>> programs;
  for (std::uint32_t client = 0; client < clients; ++client) {
    programs.push_back(
        std::make_unique<SimulatedProgram>(clock, servers, client, policy, devices[client], speeds, program));
  }
  const auto all_done = [&programs] {
    return std::all_of(programs.begin(), programs.end(), [](const auto& each) { return each->is_done(); });
  };
  for (const auto& each : programs) each->begin({program.buffers, warm_up});
  clock.run(all_done);
  // They are told to begin.
  const auto counts = kernels();
  const Time begin = clock.now() + 0.5;
  clock.at(begin, [&] {
    for (std::uint32_t client = 0; client < clients; ++client) programs[client]->begin({counts[client], kernel});
  });
  clock.run([&] { return clock.now() >= begin; });
  clock.run(all_done);
  Outcome outcome{clock.now() - begin, {}, {}, {}};
  for (const auto& each : programs) {
    outcome.ends.push_back(each->last_end() - begin);
    outcome.waits.push_back(each->longest_wait());
    outcome.placed.push_back(each->placed());
  }
  return outcome;
}

}  // namespace remotecl::schedule
