#include "extras/scheduling/schedule/exploration.h"

#include <gtest/gtest.h>

#include "fixture.h"

namespace remotecl::schedule {
namespace {

TEST(ExplorationTest, TrialsAreFavouredWhileTheyHaveCostLittle) {
  Exploration exploration;
  exploration.reserve(4);
  EXPECT_EQ(exploration.factor(1), 1) << "nothing has run yet";
  exploration.ran(100);
  EXPECT_EQ(exploration.factor(1), Exploration::kOptimism);
  exploration.begin_trial(2, 1);
  EXPECT_EQ(exploration.factor(2), Exploration::kCaution) << "one at a time";
  EXPECT_EQ(exploration.factor(1), Exploration::kOptimism);
  exploration.begin_trial(3, 5);
  EXPECT_EQ(exploration.factor(1), 1) << "those that run may cost too much";
  exploration.end_trial(3, 5, 0);
  EXPECT_EQ(exploration.factor(1), Exploration::kOptimism);
  exploration.end_trial(2, 1, 50);
  EXPECT_EQ(exploration.factor(1), 1);
  exploration.ran(1000);
  EXPECT_EQ(exploration.factor(2), Exploration::kOptimism);
}

TEST(ExplorationTest, ATrialThatDelaysItsTaskWaitsForItsBudget) {
  Exploration exploration;
  exploration.reserve(2);
  EXPECT_FALSE(exploration.affords(1, 1));
  exploration.ran(30);
  EXPECT_TRUE(exploration.affords(1, 1));
  EXPECT_FALSE(exploration.affords(1, 2));
  exploration.begin_trial(1, 1);
  EXPECT_FALSE(exploration.affords(1, 0)) << "one at a time";
  exploration.end_trial(1, 1, 1);
  EXPECT_FALSE(exploration.affords(1, 1)) << "spent";
}

// A chain of kernels over one buffer: to bring it to the other device takes longer than one of them.
TEST(ExplorationTest, DevicesAreTriedAlsoWhereDataHasToMoveFirst) {
  constexpr Seconds kRun = 60e-3;
  constexpr std::uint64_t kBytes = 200u << 20;
  for (const double speed : {1.0, 0.25}) {  // of the other device: this one is as fast, or four times as fast
    SmallCluster cluster("earliest-finish");
    const DeviceId first = cluster.add_speed(1), other = cluster.add_speed(1);
    const KernelId kernel = cluster.scheduler_.add_kernel("k");
    DeviceId holder = first;
    Time now = 0;
    int on_other = 0, tried = 0;
    for (int i = 0; i < 300; ++i) {
      cluster.residency_.put(1, kBytes, {holder});
      const std::vector<Access> accesses{{.buffer = 1, .bytes = kBytes, .reads = true, .writes = true}};
      Task task;
      task.kernel = kernel;
      task.size = 1;
      task.accesses = accesses;
      const Placement placement = cluster.scheduler_.place(task, now);
      EXPECT_NE(placement.runner_up, kNoDevice) << i;
      const Seconds run = placement.device == other ? kRun * speed : kRun;
      now += placement.estimate.transfer + run;
      cluster.scheduler_.finished(placement.ticket, run, now);
      holder = placement.device;
      if (placement.device == other && tried == 0) tried = i;
      on_other += placement.device == other ? 1 : 0;
    }
    EXPECT_GT(tried, 0) << speed;
    EXPECT_LT(now, 300 * kRun * 1.1) << speed;
    if (speed < 1) {
      EXPECT_GT(on_other, 290 - tried) << "it is the better one, and stays it";
    }
  }
}

}  // namespace
}  // namespace remotecl::schedule
