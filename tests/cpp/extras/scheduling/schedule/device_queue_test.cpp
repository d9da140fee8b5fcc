#include "extras/scheduling/schedule/device_queue.h"

#include <gtest/gtest.h>

#include <limits>

namespace remotecl::schedule {
namespace {

DeviceQueue::Position push(DeviceQueue& queue, Time now, Time earliest, Seconds seconds, bool is_watched = false) {
  return queue.push(now, earliest, seconds, is_watched);
}

TEST(DeviceQueueTest, TasksOfOneUserFollowEachOther) {
  DeviceQueue queue;
  EXPECT_EQ(queue.free_at(10), 10);
  push(queue, 10, 10, 2);
  EXPECT_EQ(queue.free_at(10), 12);
  EXPECT_EQ(queue.free_at(11), 12);
  EXPECT_EQ(queue.end(10, 10, 3), 15);
  EXPECT_EQ(queue.end(10, 20, 3), 23) << "its data comes late";
}

TEST(DeviceQueueTest, ADelayMovesWhatFollows) {
  DeviceQueue queue;
  const auto first = push(queue, 0, 0, 2);
  const auto second = push(queue, 0, 0, 2);
  EXPECT_EQ(queue.expected_end(second, 0), 4);
  queue.pop(first, 5);
  EXPECT_EQ(queue.expected_end(second, 5), 7);
  EXPECT_EQ(queue.free_at(5), 7);
  const auto third = push(queue, 5, 5, 1);
  EXPECT_EQ(queue.expected_end(third, 5), 8);
  queue.pop(second, 6);
  EXPECT_EQ(queue.expected_end(third, 6), 7) << "early is like late";
  queue.pop(third, 7);
  EXPECT_EQ(queue.backlog(7), 0);
}

TEST(DeviceQueueTest, AnEmptyQueueForgetsItsDelay) {
  DeviceQueue queue;
  queue.pop(push(queue, 0, 0, 1), 100);
  const auto next = push(queue, 200, 200, 1);
  EXPECT_EQ(queue.expected_end(next, 200), 201);
}

TEST(DeviceQueueTest, WhatIsWatchedAndOverdueNeedsAsLongAgain) {
  DeviceQueue queue;
  const auto first = push(queue, 0, 0, 1, true);
  EXPECT_EQ(queue.free_at(1), 1);
  EXPECT_EQ(queue.free_at(4), 7);
  push(queue, 4, 4, 1);
  EXPECT_EQ(queue.free_at(4), 8) << "what comes behind it does not hide that it is late";
  EXPECT_EQ(queue.free_at(5), 10);
  queue.pop(first, 6);
  EXPECT_EQ(queue.free_at(6), 7);
}

TEST(DeviceQueueTest, WhatNobodyWatchesEndsAsExpected) {
  DeviceQueue queue;
  push(queue, 0, 0, 1);
  EXPECT_EQ(queue.free_at(4), 4);
}

TEST(DeviceQueueTest, TheEndOfATaskIsThatOfThoseBefore) {
  DeviceQueue queue;
  const auto first = push(queue, 0, 0, 1);
  const auto second = push(queue, 0, 0, 1);
  push(queue, 0, 0, 1);
  queue.pop(second, 3);
  EXPECT_EQ(queue.free_at(3), 4);
  queue.pop(first, 3);
  EXPECT_EQ(queue.free_at(3), 4);
}

TEST(DeviceQueueTest, WhileOthersHaveWorkOursTakesLonger) {
  DeviceQueue queue;
  push(queue, 0, 0, 2);
  queue.report({100, 3}, 1);
  EXPECT_EQ(queue.backlog(1), 1);
  EXPECT_EQ(queue.backlog(3), 0.5) << "a quarter of the device is ours";
  queue.report({0, 0}, 3);
  EXPECT_EQ(queue.backlog(3.25), 0.25);
}

// A task of 1 s whose data comes at 10: until then nobody does our work, whoever else uses the device.
TEST(DeviceQueueTest, WaitingForDataTakesNoLongerBecauseOfOthers) {
  DeviceQueue queue;
  queue.report({100, 1}, 0);
  const auto position = push(queue, 0, 10, 1);
  EXPECT_EQ(queue.expected_end(position, 0), 12);
  EXPECT_EQ(queue.expected_end(position, 4), 12);
  EXPECT_EQ(queue.free_at(4), 12);
}

TEST(DeviceQueueTest, ADroppedTaskLeavesNoGap) {
  DeviceQueue queue;
  push(queue, 0, 0, 2);
  push(queue, 0, 0, 3);
  queue.drop(2);
  EXPECT_EQ(queue.free_at(0), 3);
  queue.drop(3);
  EXPECT_EQ(queue.free_at(0), 0);
}

// Two users of weight 1: a short task of ours takes twice as long, a long one waits for all that the other has.
TEST(DeviceQueueTest, OthersDelayUsByWhatTheirWeightLetsThemHave) {
  DeviceQueue queue;
  queue.report({10, 1}, 0);
  EXPECT_EQ(queue.end(0, 0, 1), 2);
  EXPECT_EQ(queue.end(0, 0, 100), 110);
  DeviceQueue heavy(4);
  heavy.report({10, 1}, 0);
  EXPECT_EQ(heavy.end(0, 0, 1), 1.25);
  EXPECT_EQ(queue.end(4, 4, 100), 110) << "they go on since the report";
  EXPECT_EQ(queue.end(0, 8, 100), 110) << "while we wait for data, only they use the device";
  EXPECT_EQ(queue.end(50, 50, 1), 51);
}

TEST(DeviceQueueTest, AReportMaySayOurWeight) {
  DeviceQueue queue, heavy(4);
  queue.report({10, 1, 4}, 0);
  heavy.report({10, 1}, 0);
  EXPECT_EQ(queue.share(), heavy.share());
  EXPECT_EQ(queue.end(0, 0, 1), heavy.end(0, 0, 1));
  queue.report({10, 1}, 0);  // says nothing more
  EXPECT_EQ(queue.share(), heavy.share());
}

TEST(DeviceQueueTest, AReportMayBeNonsense) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  for (const double queued : {kNan, kInf, -kInf, -1.0, 1e300}) {
    for (const double weight : {kNan, kInf, -kInf, -1.0, 1e300}) {
      DeviceQueue queue;
      queue.report({queued, weight, weight}, 0);
      const Time end = queue.end(0, 0, 1);
      EXPECT_GE(end, 1);
      EXPECT_LT(end, 1e7);
    }
  }
}

}  // namespace
}  // namespace remotecl::schedule
