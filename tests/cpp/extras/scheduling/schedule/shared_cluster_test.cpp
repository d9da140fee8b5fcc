// Eight programs on four servers of unlike speed, each with a scheduler of its own, next to the best static placement
// that there is. No client's program is told of another one's plans.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "simulated_cluster.h"

namespace remotecl::schedule {
namespace {

constexpr Seconds kLengths[] = {0.1, 0.02, 0.002};

void show(const std::string& name, const SharedCluster& cluster, const SharedCluster::Outcome& outcome) {
  std::printf("  %-16s %6.2f s, %4.2f of least, longest wait %5.2f s, on devices", name.c_str(), outcome.total,
              outcome.total / cluster.lower_bound(), *std::max_element(outcome.waits.begin(), outcome.waits.end()));
  for (std::size_t device = 0; device < cluster.threads.size(); ++device) {
    std::uint32_t sum = 0;
    for (const auto& placed : outcome.placed) sum += placed[device];
    std::printf(" %u", sum);
  }
  std::printf("; ends");
  for (const Seconds end : outcome.ends) std::printf(" %.1f", end);
  std::printf("\n");
  std::fflush(stdout);
}

// How much longer all takes than with the best static placement.
double of_best_static(const SharedCluster& cluster, const std::string& what) {
  std::printf("%s: kernels of %g ms on one thread; least %.2f s\n", what.c_str(), cluster.kernel * 1e3,
              cluster.lower_bound());
  const auto best = cluster.run(cluster.best_static()), automatic = cluster.automatic();
  show("best static", cluster, best);
  show("automatic", cluster, automatic);
  return automatic.total / best.total;
}

TEST(SharedClusterTest, ProgramsEndNoLaterThanWithTheBestStaticPlacement) {
  for (const Seconds kernel : kLengths) {
    for (const bool says_speed : {true, false}) {
      SharedCluster cluster{.says_speed = says_speed, .kernel = kernel, .warm_up = kernel};
      EXPECT_LE(of_best_static(cluster, says_speed ? "speeds are known" : "speeds are not known"), 1);
    }
  }
}

// What a program has run before is called alike and takes microseconds: the first 32 kernels of each are placed before
// any of them has ended, a third of all where kernels are long.
TEST(SharedClusterTest, KernelsThatTakeLongerThanBeforeAreNoticed) {
  for (const Seconds kernel : kLengths) {
    EXPECT_LE(of_best_static({.kernel = kernel, .warm_up = 20e-6}, "the length is not known"), 1.02);
  }
}

// The scheduler knows of an end when the program has waited for it.
TEST(SharedClusterTest, ProgramsMayWaitInTheOrderInWhichTheyEnqueue) {
  for (const Seconds kernel : kLengths) {
    SharedCluster cluster{.kernel = kernel, .warm_up = kernel};
    cluster.program.waits_in_order = true;
    EXPECT_LE(of_best_static(cluster, "waits in order"), 1.02);
  }
}

TEST(SharedClusterTest, NobodyStarves) {
  for (const Seconds kernel : kLengths) {
    const SharedCluster cluster{.kernel = kernel, .warm_up = kernel};
    const auto outcome = cluster.automatic();
    for (std::uint32_t client = 0; client < cluster.clients; ++client) {
      EXPECT_LE(outcome.ends[client], 2 * cluster.fair_end(client)) << client;
      // A kernel of each client on the slowest device.
      EXPECT_LE(outcome.waits[client], cluster.clients * kernel + 0.1) << client;
    }
  }
}

// Many programs for few devices, and one for many.
TEST(SharedClusterTest, OtherNumbersOfClientsAndServers) {
  for (const std::uint32_t clients : {1, 2, 5}) {
    EXPECT_LE(of_best_static({.clients = clients, .kernel = 0.02, .warm_up = 0.02}, std::to_string(clients)), 1.02);
  }
  EXPECT_LE(of_best_static({.threads = {4, 4}, .kernel = 0.02, .warm_up = 0.02}, "two alike"), 1.05);
  EXPECT_LE(of_best_static({.threads = {1, 16}, .kernel = 0.02, .warm_up = 0.02}, "two unlike"), 1.05);
}

}  // namespace
}  // namespace remotecl::schedule
