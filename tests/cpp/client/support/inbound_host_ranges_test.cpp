#include "runtime/client/support/inbound_host_ranges.h"

#include <gtest/gtest.h>

#include <array>

namespace remotecl {
namespace {

class InboundHostRangesTest : public ::testing::Test {
 protected:
  InboundHostRanges::Ticket begin(std::size_t offset, std::size_t size) {
    return arrivals_.begin(memory_.data() + offset, size);
  }
  // Whether it waits; `called_` counts what has come of it.
  bool waits(std::size_t offset, std::size_t size) {
    return arrivals_.when_there(memory_.data() + offset, size, [this] { ++called_; });
  }

  std::array<std::byte, 1000> memory_{};
  InboundHostRanges arrivals_;
  int called_ = 0;
};

TEST_F(InboundHostRangesTest, NothingUnderWayHoldsNobody) {
  EXPECT_TRUE(arrivals_.none());
  EXPECT_FALSE(waits(0, 1000));
  const auto ticket = begin(0, 1000);
  EXPECT_FALSE(arrivals_.none());
  arrivals_.end(ticket);
  EXPECT_TRUE(arrivals_.none());
  EXPECT_FALSE(waits(0, 1000));
  EXPECT_EQ(called_, 0);
}

TEST_F(InboundHostRangesTest, OnlyWhatOverlapsIsWaitedFor) {
  const auto ticket = begin(100, 50);
  EXPECT_FALSE(waits(0, 100));
  EXPECT_FALSE(waits(150, 100));
  EXPECT_TRUE(waits(149, 1));
  EXPECT_TRUE(waits(100, 1));
  EXPECT_TRUE(waits(120, 3));
  EXPECT_TRUE(waits(0, 1000));
  arrivals_.end(ticket);
  EXPECT_EQ(called_, 4);
}

TEST_F(InboundHostRangesTest, AllOfThemHaveToBeThere) {
  const auto large = begin(0, 400), small = begin(300, 10), same = begin(300, 10), apart = begin(600, 10);
  EXPECT_TRUE(waits(305, 200));
  arrivals_.end(apart);
  arrivals_.end(same);
  arrivals_.end(large);
  EXPECT_EQ(called_, 0);
  arrivals_.end(small);
  EXPECT_EQ(called_, 1);
}

TEST_F(InboundHostRangesTest, LaterOnesAreNotWaitedFor) {
  const auto first = begin(0, 10);
  EXPECT_TRUE(waits(0, 10));
  const auto second = begin(0, 10);
  arrivals_.end(first);
  EXPECT_EQ(called_, 1);
  arrivals_.end(second);
  EXPECT_EQ(called_, 1);
}

// However many are on their way to one place, the last one is waited for, which ends after all of them.
TEST_F(InboundHostRangesTest, ALaterOneStandsForThoseWithinIt) {
  const auto first = arrivals_.begin_after_pending(memory_.data() + 100, 50);
  const auto apart = arrivals_.begin_after_pending(memory_.data() + 500, 10);
  const auto second = arrivals_.begin_after_pending(memory_.data() + 100, 50);
  const auto third = arrivals_.begin_after_pending(memory_.data() + 90, 100);
  EXPECT_TRUE(waits(120, 1));
  arrivals_.end(third);
  arrivals_.end(second);
  EXPECT_EQ(called_, 0);
  EXPECT_TRUE(waits(95, 1)) << "although that one has ended";
  arrivals_.end(first);
  EXPECT_EQ(called_, 2);
  EXPECT_FALSE(waits(0, 400));
  EXPECT_FALSE(arrivals_.none());
  arrivals_.end(apart);
  EXPECT_TRUE(arrivals_.none());
}

TEST_F(InboundHostRangesTest, AShorterOneStandsForNothing) {
  const auto large = arrivals_.begin_after_pending(memory_.data(), 400);
  const auto small = arrivals_.begin_after_pending(memory_.data(), 10);
  arrivals_.end(small);
  EXPECT_TRUE(waits(5, 1));
  arrivals_.end(large);
  EXPECT_EQ(called_, 1);
  EXPECT_TRUE(arrivals_.none());
}

}  // namespace
}  // namespace remotecl
