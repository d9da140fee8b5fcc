// A day of many users on many unlike devices, under each policy. REMOTECL_TEST_SIMULATION=day makes it 1,024 devices
// and 200 users; REMOTECL_TEST_SEED takes another trace.
#include "simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>

#include "extras/scheduling/schedule/named_policies.h"
#include "lower_bound.h"

namespace remotecl::schedule {
namespace {

TraceOptions options() {
  TraceOptions result;
  if (const char* seed = std::getenv("REMOTECL_TEST_SEED")) result.seed = static_cast<std::uint32_t>(std::stoul(seed));
  const char* size = std::getenv("REMOTECL_TEST_SIMULATION");
  if (size && std::string_view(size) == "day") {
    result.devices = 1024;
    result.users = 200;
    result.jobs = 25'000;
  }
  return result;
}

class SimulationTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const TraceOptions chosen = options();
    const Trace trace = make_trace(chosen);
    bound_ = lower_bound(trace);
    tasks_ = trace.tasks();
    std::printf("seed %u: %zu devices, %zu users, %zu jobs, %zu tasks; no schedule is shorter than %.0f s\n",
                chosen.seed, chosen.devices, chosen.users, chosen.jobs, tasks_, bound_);
    std::printf("%-16s %10s %9s %8s %10s %11s %9s %17s\n", "policy", "makespan s", "of bound", "fairness", "slowdown",
                "worst user", "stall s", "decision us, max");
    for (const std::string_view policy : policy_names()) {
      const Outcome outcome = simulate(trace, policy);
      const std::vector<float> decisions = least_times(trace, policy, outcome.decisions);
      const double all = std::accumulate(decisions.begin(), decisions.end(), 0.0);
      longest_decision_[std::string(policy)] = *std::max_element(decisions.begin(), decisions.end());
      std::printf("%-16s %10.0f %9.3f %8.3f %10.2f %11.2f %9.0f %8.2f %8.1f\n", std::string(policy).c_str(),
                  outcome.makespan, outcome.makespan / bound_, outcome.fairness(), outcome.mean_slowdown(),
                  outcome.worst_slowdown(), outcome.stall, all / static_cast<double>(decisions.size()) * 1e6,
                  longest_decision_[std::string(policy)] * 1e6);
      outcomes_[std::string(policy)] = outcome;
    }
    std::fflush(stdout);
  }

  // A decision is the same each time; what is longer was interrupted, or found its memory in nobody's cache.
  static std::vector<float> least_times(const Trace& trace, std::string_view policy, std::vector<float> times) {
    if (policy != kDefaultPolicy) return times;
    for (int again = 0; again < kRepetitions; ++again) {
      const Outcome outcome = simulate(trace, policy);
      std::transform(times.begin(), times.end(), outcome.decisions.begin(), times.begin(),
                     [](float one, float other) { return std::min(one, other); });
    }
    return times;
  }
  static const Outcome& of(const std::string& policy) { return outcomes_.at(policy); }

  static constexpr int kRepetitions = 2;

  static inline Time bound_ = 0;
  static inline std::size_t tasks_ = 0;
  static inline std::map<std::string, Outcome> outcomes_;
  static inline std::map<std::string, float> longest_decision_;
};

TEST_F(SimulationTest, EachTaskRunsOnceAndNothingBeatsTheBound) {
  for (const auto& [policy, outcome] : outcomes_) {
    EXPECT_EQ(outcome.tasks, tasks_) << policy;
    EXPECT_GE(outcome.makespan, bound_) << policy;
    for (const double slow : outcome.slowdown) EXPECT_GE(slow, 1) << policy;
  }
}

// At noon work comes nearly as fast as the devices could do it at best. What costs is that users do not know the
// kernels at first, do not know of each other's plans, and cannot take back what is enqueued.
TEST_F(SimulationTest, EarliestFinishIsNearTheBoundAndBeforeAllOthers) {
  EXPECT_LE(of("earliest-finish").makespan, 1.5 * bound_);
  for (const auto& [policy, outcome] : outcomes_) EXPECT_GE(outcome.makespan, of("earliest-finish").makespan) << policy;
  // Which know nothing of what suits a kernel.
  for (const std::string policy : {"static", "round-robin", "least-loaded"}) {
    EXPECT_GE(of(policy).mean_slowdown(), of("earliest-finish").mean_slowdown()) << policy;
  }
}

// Devices serve users by weight, and the schedulers avoid each other. 24 users or 200 that share nothing would have an
// index of 1/24 or less.
TEST_F(SimulationTest, NobodyStarvesUnderEarliestFinish) {
  const Outcome& outcome = of("earliest-finish");
  EXPECT_GE(outcome.fairness(), 0.5);
  // Whoever is worst off is better off than most would be if devices were chosen without knowing what suits a kernel.
  for (const std::string policy : {"static", "round-robin", "least-loaded"}) {
    EXPECT_LE(outcome.worst_slowdown(), of(policy).mean_slowdown()) << policy;
  }
  // Whoever waits sees a task of its own begin or end while some other tasks pass.
  EXPECT_LE(outcome.stall, 3 * outcome.longest_task);
}

}  // namespace
}  // namespace remotecl::schedule
