#include "runtime/transport/threads/helper_team.h"

#include <gtest/gtest.h>

#include <array>

namespace remotecl {
namespace {

TEST(HelperTeamTest, DoesEachPartOnceAndWaitsForAll) {
  HelperTeam team(3);
  ASSERT_TRUE(team.is_there());
  std::array<int, 4> counts{};  // plain: what the parts have written is seen when run() returns
  for (int i = 0; i < 2000; ++i) team.run([&](unsigned part) { ++counts[part]; });
  for (const int count : counts) EXPECT_EQ(count, 2000);
}

TEST(HelperTeamTest, PartsRunSideBySide) {
  HelperTeam team(2);
  ASSERT_TRUE(team.is_there());
  std::atomic<unsigned> begun{0};
  team.run([&](unsigned) {
    ++begun;
    while (begun != 3) std::this_thread::yield();
  });
  EXPECT_EQ(begun, 3u);
}

TEST(HelperTeamTest, ThrowsWhatAPartHasThrownWhenAllHaveEnded) {
  HelperTeam team(2);
  ASSERT_TRUE(team.is_there());
  for (unsigned thrower = 0; thrower < 3; ++thrower) {
    std::atomic<unsigned> ended{0};
    EXPECT_THROW(team.run([&](unsigned part) {
      ++ended;
      if (part == thrower) throw std::bad_alloc();
    }),
                 std::bad_alloc);
    EXPECT_EQ(ended, 3u);
  }
  EXPECT_NO_THROW(team.run([](unsigned) {}));
}

TEST(HelperTeamTest, MayEndUnused) { HelperTeam team(7); }

}  // namespace
}  // namespace remotecl
