#include "server/network/thread_load.h"

#include <gtest/gtest.h>

namespace remotecl::server {
namespace {

using std::chrono::milliseconds;
using Verdict = ThreadLoad::Verdict;

class ThreadLoadTest : public ::testing::Test {
 protected:
  ThreadLoadTest() { load_.restart(now_, used_); }
  // A window in which the thread worked and had its core for so many of ten milliseconds.
  Verdict window(int worked, int used) {
    EXPECT_FALSE(load_.is_due(now_));
    load_.worked(milliseconds(worked));
    now_ += ThreadLoad::kWindow;
    used_ += milliseconds(used);
    EXPECT_TRUE(load_.is_due(now_));
    return load_.judge(now_, used_);
  }

  ThreadLoad::Time now_{std::chrono::hours(1)};
  ThreadLoad::Duration used_{};
  ThreadLoad load_;
};

TEST_F(ThreadLoadTest, IsBusyOnceItHasBeenForAWhile) {
  EXPECT_EQ(window(10, 10), Verdict::kNone);
  EXPECT_EQ(window(9, 10), Verdict::kBusy);
  load_.restart(now_, used_);
  EXPECT_EQ(window(10, 10), Verdict::kNone);
}

TEST_F(ThreadLoadTest, APauseBeginsTheWhileAnew) {
  EXPECT_EQ(window(10, 10), Verdict::kNone);
  EXPECT_EQ(window(8, 10), Verdict::kNone);
  EXPECT_EQ(window(10, 10), Verdict::kNone);
}

TEST_F(ThreadLoadTest, LookingAtIdleRingsIsNoWork) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(window(5, 10), Verdict::kNone);
}

TEST_F(ThreadLoadTest, WhereThreadsWaitForCoresOneMoreIsOfNoUse) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(window(10, 8), Verdict::kNone);
}

TEST_F(ThreadLoadTest, IsCalmAfterASecondWithHardlyAnything) {
  for (int i = 1; i < 100; ++i) ASSERT_EQ(window(0, 1), Verdict::kNone) << i;
  EXPECT_EQ(window(0, 1), Verdict::kCalm);
  EXPECT_EQ(window(1, 1), Verdict::kNone);
  EXPECT_EQ(window(0, 1), Verdict::kNone);
}

}  // namespace
}  // namespace remotecl::server
