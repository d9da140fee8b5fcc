#include "extras/scheduling/schedule/service_time.h"

#include <gtest/gtest.h>

namespace remotecl::schedule {
namespace {

ServiceTime::Ended task(DeviceQueue::Position position, Time placed, const RunTimes& run, double share = 1) {
  return {.position = position, .expected = 1, .placed = placed, .share = share, .run = run};
}

TEST(ServiceTimeTest, TasksOneAfterTheOtherTakeFromBeginToEnd) {
  ServiceTime times;
  EXPECT_DOUBLE_EQ(times.seconds(task(1, 0, {0, 3}), 3), 3);
  EXPECT_DOUBLE_EQ(times.seconds(task(2, 0, {3, 5}), 5), 2);
}

// Four kernels that were enqueued at once, on a device that begins the next one early.
TEST(ServiceTimeTest, WhatHasWaitedBeginsWhereTheOneBeforeEnds) {
  ServiceTime times;
  for (int at = 0; at < 4; ++at) {
    const RunTimes run{at < 1 ? 0.0 : at - 1.0, at + 1.0};
    EXPECT_DOUBLE_EQ(times.seconds(task(at + 1, 0, run), run.end), 1) << at;
  }
}

TEST(ServiceTimeTest, OnesThatNobodyHasSeenEndHaveTheirPart) {
  ServiceTime times;
  times.seconds(task(1, 0, {0, 1}), 1);
  EXPECT_DOUBLE_EQ(times.seconds(task(5, 0, {1, 9}), 9), 2);
}

TEST(ServiceTimeTest, OthersHaveTheirPart) {
  ServiceTime times;
  times.seconds(task(1, 0, {0, 8}, 0.125), 8);
  EXPECT_DOUBLE_EQ(times.seconds(task(2, 0, {8, 16}, 0.125), 16), 1);
}

TEST(ServiceTimeTest, AnIdleDeviceSaysNothingOfTheTimeBetween) {
  ServiceTime times;
  times.seconds(task(1, 0, {0, 1}, 0.125), 1);
  EXPECT_DOUBLE_EQ(times.seconds(task(2, 1.5, {2, 4}, 0.125), 4), 2) << "nothing of ours waited when the first ended";
}

TEST(ServiceTimeTest, TasksThatOvertakeOthersTakeFromBeginToEnd) {
  ServiceTime times;
  times.seconds(task(2, 0, {0, 5}), 5);
  EXPECT_DOUBLE_EQ(times.seconds(task(1, 0, {0, 6}), 6), 6);
  EXPECT_DOUBLE_EQ(times.seconds(task(3, 0, {0, 6}), 6), 1) << "after the one that has overtaken";
}

TEST(ServiceTimeTest, EndsAreKnownLaterThanTheyAre) {
  ServiceTime times;
  EXPECT_DOUBLE_EQ(times.end({1000, 1001}, 7), 7) << "nothing is known of the clock yet";
  EXPECT_DOUBLE_EQ(times.end({1001, 1002}, 8), 8);
  EXPECT_NEAR(times.end({1002, 1003}, 20), 9, 1e-3) << "it was asked for late";
  EXPECT_DOUBLE_EQ(times.end({1003, 1004}, 9.5), 9.5) << "a quick message";
}

}  // namespace
}  // namespace remotecl::schedule
