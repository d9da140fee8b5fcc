#include "runtime/schedule/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

// Devices with these true speeds (items per second) run a division; how long that takes.
struct Ran {
  double seconds = 0;
  std::uint64_t pieces = 0;
};
Ran run(Division& division, const std::vector<double>& truth, std::uint64_t items, double overhead = 0) {
  std::vector<double> free_at(truth.size());
  std::vector<Piece> pieces(truth.size());
  std::vector<bool> covered(items);
  Ran ran;
  for (std::uint32_t device = 0; device < truth.size(); ++device) pieces[device] = division.take(device);
  const auto end = [&](std::uint32_t device) {
    return pieces[device].count == 0
               ? 1e300
               : free_at[device] + overhead + static_cast<double>(pieces[device].count) / truth[device];
  };
  for (;;) {
    std::uint32_t first = 0;
    for (std::uint32_t device = 1; device < truth.size(); ++device) first = end(device) < end(first) ? device : first;
    const Piece piece = pieces[first];
    if (piece.count == 0) break;
    for (std::uint64_t at = piece.begin; at < piece.begin + piece.count; ++at) {
      EXPECT_FALSE(covered[at]);
      covered[at] = true;
    }
    const double ended = end(first);
    division.ended(piece, ended - free_at[first]);
    free_at[first] = ended;
    ran.seconds = std::max(ran.seconds, ended);
    ++ran.pieces;
    pieces[first] = division.take(first);
  }
  EXPECT_TRUE(division.all_taken());
  EXPECT_EQ(std::count(covered.begin(), covered.end(), false), 0);
  return ran;
}

TEST(DivisionTest, PiecesShrink) {
  Division division({1, 1}, 1000, 10);
  EXPECT_EQ(division.take(0), (Piece{0, 0, 70})) << "nothing is measured yet";
  EXPECT_EQ(division.take(1), (Piece{1, 70, 60}));
  division.ended({0, 0, 70}, 1);
  EXPECT_EQ(division.take(0), (Piece{0, 130, 220}));
  EXPECT_EQ(division.take(0), (Piece{0, 350, 170}));
}

TEST(DivisionTest, SmallPiecesAreNotWorthIt) {
  Division division({1, 1}, 1000, 10, 300);
  EXPECT_EQ(division.take(0).count, 300u);
  EXPECT_EQ(division.take(0).count, 300u);
  EXPECT_EQ(division.take(0).count, 300u);
  EXPECT_EQ(division.take(0).count, 100u);
  EXPECT_TRUE(division.all_taken());
  EXPECT_EQ(division.take(0).count, 0u);
}

TEST(DivisionTest, WhatAFailedDeviceHadIsDealtAgain) {
  Division division({1, 1}, 100, 1);
  const Piece lost = division.take(0);
  while (division.take(1).count > 0) {
  }
  division.give_back(lost);
  EXPECT_FALSE(division.all_taken());
  EXPECT_EQ(division.take(1), (Piece{1, lost.begin, lost.count}));
  EXPECT_TRUE(division.all_taken());
}

TEST(DivisionTest, SpeedsFollowWhatIsMeasured) {
  Division division({1, 1, 2}, 1000, 1);
  division.ended(division.take(0), 1);
  EXPECT_EQ(division.speeds(), (std::vector<double>{31, 31, 62})) << "those that are not measured keep their ratio";
  division.ended({1, 0, 50}, 1);
  EXPECT_EQ(division.speeds()[1], 50);
  division.ended({1, 0, 100}, 1);
  EXPECT_EQ(division.speeds()[1], 75);
}

// Whatever the speeds are and whatever was expected, all devices end at about the same time.
TEST(DivisionPropertyTest, WrongSpeedsAreMadeUpFor) {
  std::mt19937 random(9);
  for (int run_number = 0; run_number < 100; ++run_number) {
    SCOPED_TRACE(run_number);
    std::vector<double> truth(2 + random() % 6), expected;
    for (double& speed : truth) {
      speed = 100.0 * (1 + random() % 20);
      expected.push_back(speed * std::exp2(static_cast<double>(random() % 200) / 100 - 1));  // wrong by half or twice
    }
    constexpr std::uint64_t kItems = 100'000;
    Division division(expected, kItems, 8);
    const Ran ran = run(division, truth, kItems);
    const double best = kItems / std::accumulate(truth.begin(), truth.end(), 0.0);
    EXPECT_LE(ran.seconds, best * 1.03);
    EXPECT_LE(ran.pieces, 60 * truth.size()) << "few pieces, since each costs";
  }
}

}  // namespace
}  // namespace remotecl::schedule
