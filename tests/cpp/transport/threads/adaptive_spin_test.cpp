#include "runtime/transport/threads/adaptive_spin.h"

#include <gtest/gtest.h>

namespace remotecl {
namespace {

TEST(AdaptiveSpin, EndsWithTheCondition) {
  AdaptiveSpin spin;
  int looks = 0;
  EXPECT_TRUE(spin.until([&looks] { return ++looks == 100; }));
  EXPECT_EQ(looks, 100);
}

TEST(AdaptiveSpin, IsTriedMoreAndMoreRarelyWhereItDoesNotHelp) {
  AdaptiveSpin spin;
  int tries = 0;
  for (int i = 0; i < 10'000; ++i) {
    bool looked = false;
    EXPECT_FALSE(spin.until([&looked] { return looked = true, false; }));
    tries += looked;
  }
  EXPECT_GE(tries, 10'000 / (AdaptiveSpin::kSkippedMax + 1));
  EXPECT_LE(tries, 60);
}

TEST(AdaptiveSpin, IsTriedAgainOnceItHelped) {
  AdaptiveSpin spin;
  for (int i = 0; i < 100; ++i) spin.until([] { return false; });
  while (!spin.until([] { return true; })) {
  }
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(spin.until([] { return true; }));
}

}  // namespace
}  // namespace remotecl
