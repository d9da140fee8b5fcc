#include "runtime/transport/threads/wait_policy.h"

#include <gtest/gtest.h>

namespace remotecl {
namespace {

TEST(WaitPolicy, EndsWithTheCondition) {
  WaitPolicy spin;
  int looks = 0;
  EXPECT_TRUE(spin.until([&looks] { return ++looks == 100; }));
  EXPECT_EQ(looks, 100);
}

TEST(WaitPolicy, IsTriedMoreAndMoreRarelyWhereItDoesNotHelp) {
  WaitPolicy spin;
  int tries = 0;
  for (int i = 0; i < 10'000; ++i) {
    bool looked = false;
    EXPECT_FALSE(spin.until([&looked] { return looked = true, false; }));
    tries += looked;
  }
  EXPECT_GE(tries, 10'000 / (WaitPolicy::kSkippedMax + 1));
  EXPECT_LE(tries, 60);
}

TEST(WaitPolicy, IsTriedAgainOnceItHelped) {
  WaitPolicy spin;
  for (int i = 0; i < 100; ++i) spin.until([] { return false; });
  while (!spin.until([] { return true; })) {
  }
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(spin.until([] { return true; }));
}

}  // namespace
}  // namespace remotecl
