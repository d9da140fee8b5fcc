#include "runtime/schedule/placement.h"

#include <gtest/gtest.h>

namespace remotecl::schedule {
namespace {

TEST(PlacementTest, IsExplainedInNumbers) {
  Placement placement;
  EXPECT_EQ(explain(placement), "no device can run this kernel");
  placement.device = 3;
  placement.candidates = 16;
  placement.policy = "earliest-finish";
  placement.reason = "earliest finish";
  placement.now = 100;
  placement.ready = 100;
  placement.estimate = {100.001, 20e-6, 1.5, 101.501, 4096, 0, 0, true};
  EXPECT_EQ(explain(placement),
            "earliest-finish, earliest finish of 16: device 3, done in 1.5 s: free in 1.0 ms, 4096 bytes to fetch in "
            "20.0 us, runs 1.5 s");
  placement.ready = 102;
  placement.runner_up = 4;
  placement.second = {100, 0, 2.5, 102.5, 0, 0, 0, false};
  EXPECT_EQ(explain(placement),
            "earliest-finish, earliest finish of 16: device 3, done in 1.5 s: free in 1.0 ms, 4096 bytes to fetch in "
            "20.0 us, runs 1.5 s; waits 2.0 s for others; next: device 4, done in 2.5 s: free in 0.0 us, 0 bytes to "
            "fetch in 0.0 us, runs 2.5 s (predicted)");
}

}  // namespace
}  // namespace remotecl::schedule
