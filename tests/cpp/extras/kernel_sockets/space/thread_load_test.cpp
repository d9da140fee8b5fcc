#include "extras/kernel_sockets/space/thread_load.h"

#include <gtest/gtest.h>

namespace remotecl::server {
namespace {

using Verdict = ThreadLoad::Verdict;

class ThreadLoadTest : public ::testing::Test {
 protected:
  ThreadLoadTest() { load_.restart(now_, used_); }
  // A window in which the thread worked and had its core for so many tenths of the time.
  Verdict window(int worked, int used) {
    EXPECT_FALSE(load_.is_due(now_));
    load_.worked(worked * ThreadLoad::kWindow / 10);
    now_ += ThreadLoad::kWindow;
    used_ += used * ThreadLoad::kWindow / 10;
    EXPECT_TRUE(load_.is_due(now_));
    return load_.judge(now_, used_);
  }

  ThreadLoad::Time now_{std::chrono::hours(1)};
  ThreadLoad::Duration used_{};
  ThreadLoad load_;
};

TEST_F(ThreadLoadTest, IsBusyAfterAWindowWithHardlyAPause) {
  EXPECT_EQ(window(8, 10), Verdict::kNone);
  EXPECT_EQ(window(9, 10), Verdict::kBusy);
  load_.restart(now_, used_);
  EXPECT_EQ(window(8, 10), Verdict::kNone);
}

TEST_F(ThreadLoadTest, LookingAtIdleRingsIsNoWork) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(window(5, 10), Verdict::kNone);
}

TEST_F(ThreadLoadTest, WhereThreadsWaitForCoresOneMoreIsOfNoUse) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(window(10, 8), Verdict::kNone);
}

TEST_F(ThreadLoadTest, IsCalmAfterASecondWithHardlyAnything) {
  const auto windows = ThreadLoad::kCalmTime / ThreadLoad::kWindow;
  for (int i = 1; i < windows; ++i) ASSERT_EQ(window(0, 1), Verdict::kNone) << i;
  EXPECT_EQ(window(0, 1), Verdict::kCalm);
  EXPECT_EQ(window(1, 1), Verdict::kNone);
  EXPECT_EQ(window(0, 1), Verdict::kNone);
}

}  // namespace
}  // namespace remotecl::server
