#include "extras/scheduling/schedule/split.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

namespace remotecl::schedule {
namespace {

TEST(SplitTest, InProportionToSpeed) {
  const std::vector<double> speeds = {1, 3};
  EXPECT_EQ(split_in_proportion(speeds, 400, 1), (std::vector<Piece>{{0, 0, 100}, {1, 100, 300}}));
  EXPECT_EQ(split_in_proportion(speeds, 400, 64), (std::vector<Piece>{{0, 0, 128}, {1, 128, 272}}));
  EXPECT_EQ(split_in_proportion(speeds, 64, 64), (std::vector<Piece>{{1, 0, 64}})) << "one group is not divided";
  EXPECT_EQ(split_in_proportion(speeds, 10, 64), (std::vector<Piece>{{1, 0, 10}}));
  EXPECT_EQ(split_in_proportion(speeds, 0, 64), std::vector<Piece>{});
  EXPECT_EQ(split_in_proportion(std::vector<double>{0, 2, 0}, 100, 1), (std::vector<Piece>{{1, 0, 100}}));
}

TEST(SplitPropertyTest, EachItemIsInOnePieceAndNoShareIsOffByMoreThanAGroup) {
  std::mt19937_64 random(7);
  for (int run = 0; run < 3000; ++run) {
    SCOPED_TRACE(run);
    std::vector<double> speeds(1 + random() % 9);
    for (double& speed : speeds) speed = static_cast<double>(random() % 1000) / 10;
    speeds[random() % speeds.size()] += 1;
    const std::uint64_t items = random() >> random() % 64, granularity = 1 + random() % 1000;
    const std::vector<Piece> pieces = split_in_proportion(speeds, items, granularity);
    const double sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
    std::uint64_t next = 0;
    for (const Piece& piece : pieces) {
      EXPECT_EQ(piece.begin, next);
      EXPECT_EQ(piece.begin % granularity, 0u);
      ASSERT_GT(piece.count, 0u);
      EXPECT_GT(speeds[piece.device], 0);
      next += piece.count;
      const double share = static_cast<double>(items) * speeds[piece.device] / sum;
      // Doubles of this size are not whole numbers.
      EXPECT_NEAR(static_cast<double>(piece.count), share, 2.0 * granularity + 1e-9 * static_cast<double>(items));
    }
    EXPECT_EQ(next, items);
  }
}

}  // namespace
}  // namespace remotecl::schedule
