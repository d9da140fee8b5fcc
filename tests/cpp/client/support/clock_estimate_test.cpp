#include "runtime/client/support/clock_estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

namespace remotecl {
namespace {

TEST(ClockEstimateTest, WithoutAReadingTimesStay) { EXPECT_EQ(ClockEstimate().offset_ns(), 0u); }

TEST(ClockEstimateTest, MiddleOfTheRoundTripIsWhenTheClockWasRead) {
  ClockEstimate estimate;
  estimate.add({1000, 500'000, 1200});
  EXPECT_EQ(500'000 + estimate.offset_ns(), 1100u);
}

TEST(ClockEstimateTest, ShortestRoundTripCounts) {
  ClockEstimate estimate;
  estimate.add({1000, 50, 9000});
  estimate.add({10'000, 9000, 10'020});
  estimate.add({20'000, 1, 21'000});
  EXPECT_EQ(9000 + estimate.offset_ns(), 10'010u);
}

TEST(ClockEstimateTest, WhatMayBeTheSameClockIsOne) {
  ClockEstimate estimate;
  estimate.add({1000, 1010, 9000});
  EXPECT_EQ(estimate.offset_ns(), 0u);
  estimate.add({10'000, 10'000, 10'020});
  EXPECT_EQ(estimate.offset_ns(), 0u);
  estimate.add({20'000, 20'011, 20'010});
  EXPECT_EQ(20'011 + estimate.offset_ns(), 20'005u);
}

// Another machine's clock, hours ahead or behind, over a network whose delays vary.
TEST(ClockEstimateTest, ErrorIsAtMostHalfTheShortestRoundTrip) {
  std::mt19937_64 random(1);
  for (const std::int64_t ahead_ns :
       {std::int64_t{7'200'000'000'000}, std::int64_t{-7'200'000'000'000}, std::int64_t{0}}) {
    for (int round = 0; round < 100; ++round) {
      ClockEstimate estimate;
      std::uint64_t now_ns = 10'000'000'000'000, shortest_ns = ~0ull;
      for (int i = 0; i < 8; ++i) {
        const std::uint64_t sent_ns = now_ns, there_ns = 20'000 + random() % 500'000,
                            back_ns = 20'000 + random() % 500'000;
        now_ns += there_ns + back_ns;
        estimate.add({sent_ns, sent_ns + there_ns + static_cast<std::uint64_t>(ahead_ns), now_ns});
        shortest_ns = std::min(shortest_ns, there_ns + back_ns);
      }
      const auto error_ns = static_cast<std::int64_t>(estimate.offset_ns()) + ahead_ns;
      EXPECT_LE(std::abs(error_ns), static_cast<std::int64_t>(shortest_ns / 2));
    }
  }
}

}  // namespace
}  // namespace remotecl
