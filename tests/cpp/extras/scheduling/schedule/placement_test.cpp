#include "extras/scheduling/schedule/placement.h"

#include <gtest/gtest.h>

namespace remotecl::schedule {
namespace {

TEST(PlacementTest, IsExplainedInNumbers) {
  Placement placement;
  EXPECT_EQ(explain(placement), "no device can run this kernel");
  placement.device = 3;
  const PolicyText policy{"earliest-finish", "earliest finish"};
  placement.policy = &policy;
  placement.now = 100;
  placement.ready = 100;
  placement.estimate = {20e-6, 1.5, 101.501, 4096, true};
  EXPECT_EQ(explain(placement),
            "device 3 (earliest-finish: earliest finish): done in 1.5 s, 4096 bytes to fetch in "
            "20.0 us, runs 1.5 s");
  placement.ready = 102;
  placement.estimate.measured = false;
  placement.score = 101.501;
  placement.runner_up = 4;
  placement.second = 102.5;
  EXPECT_EQ(explain(placement),
            "device 3 (earliest-finish: earliest finish): done in 1.5 s, 4096 bytes to fetch in "
            "20.0 us, runs 1.5 s (predicted), waits 2.0 s for others; score 101.501, next device 4 with 102.5");
}

}  // namespace
}  // namespace remotecl::schedule
