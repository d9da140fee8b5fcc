#include "runtime/schedule/exploration.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace remotecl::schedule
