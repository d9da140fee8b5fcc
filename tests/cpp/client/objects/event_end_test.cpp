#include "runtime/client/objects/event_end.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace remotecl {
namespace {

constexpr EventEnd::Profile kTimes{1, 2, 3, 4};

TEST(EventEndTest, TheReportEndsAnEventWithoutHolds) {
  EventEnd end(CL_QUEUED);
  EXPECT_EQ(end.status(), CL_QUEUED);
  EXPECT_TRUE(end.claim_report());
  EXPECT_FALSE(end.is_reported());
  EXPECT_EQ(end.profile(), nullptr);
  EXPECT_TRUE(end.report(CL_COMPLETE, &kTimes));
  EXPECT_TRUE(end.is_reported());
  EXPECT_EQ(end.status(), CL_COMPLETE);
  ASSERT_NE(end.profile(), nullptr);
  EXPECT_EQ(*end.profile(), kTimes);
}

TEST(EventEndTest, OnlyOneReportIsTaken) {
  EventEnd end(CL_SUBMITTED);
  EXPECT_TRUE(end.claim_report());
  EXPECT_FALSE(end.claim_report());
  EXPECT_TRUE(end.report(-5, nullptr));
  EXPECT_FALSE(end.claim_report());
  EXPECT_EQ(end.status(), -5);
  EXPECT_EQ(end.profile(), nullptr);
}

TEST(EventEndTest, WhateverComesLastEndsIt) {
  EventEnd report_last(CL_QUEUED), hold_last(CL_QUEUED);
  for (EventEnd* end : {&report_last, &hold_last}) {
    end->add_hold();
    end->add_hold();
    EXPECT_TRUE(end->is_held());
    EXPECT_FALSE(end->release_hold(CL_COMPLETE));
  }
  EXPECT_FALSE(report_last.release_hold(CL_COMPLETE));
  EXPECT_FALSE(report_last.is_held());
  EXPECT_TRUE(report_last.claim_report());
  EXPECT_TRUE(report_last.report(CL_COMPLETE, nullptr));
  EXPECT_TRUE(hold_last.claim_report());
  EXPECT_FALSE(hold_last.report(CL_COMPLETE, nullptr));
  EXPECT_FALSE(hold_last.is_over());
  EXPECT_TRUE(hold_last.release_hold(CL_COMPLETE));
  EXPECT_EQ(hold_last.status(), CL_COMPLETE);
}

TEST(EventEndTest, TheFirstFailureIsTheStatus) {
  EventEnd end(CL_QUEUED);
  end.add_hold();
  end.add_hold();
  EXPECT_FALSE(end.release_hold(-4));
  EXPECT_EQ(end.outcome(), -4);
  EXPECT_FALSE(end.release_hold(-5));
  EXPECT_TRUE(end.claim_report());
  EXPECT_TRUE(end.report(-6, nullptr));
  EXPECT_EQ(end.status(), -4);
}

TEST(EventEndTest, LossEndsItOnceInSpiteOfHolds) {
  EventEnd end(CL_QUEUED);
  end.add_hold();
  EXPECT_TRUE(end.lose());
  EXPECT_EQ(end.status(), CL_DEVICE_NOT_AVAILABLE);
  EXPECT_FALSE(end.lose());
  EXPECT_TRUE(end.claim_report());
  EXPECT_FALSE(end.report(CL_COMPLETE, nullptr));
  EXPECT_FALSE(end.release_hold(CL_COMPLETE));
  EXPECT_EQ(end.status(), CL_DEVICE_NOT_AVAILABLE);
}

TEST(EventEndTest, AWaitEndsWithTheEventOrItsDeadline) {
  EventEnd end(CL_QUEUED);
  EXPECT_FALSE(end.wait(std::chrono::steady_clock::now()));
  EXPECT_FALSE(end.wait(std::chrono::steady_clock::now() + std::chrono::milliseconds(1)));
  std::vector<std::thread> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.emplace_back([&end] { EXPECT_TRUE(end.wait({})); });
  }
  EXPECT_TRUE(end.claim_report());
  EXPECT_TRUE(end.report(CL_COMPLETE, nullptr));
  for (std::thread& thread : waiting) thread.join();
  EXPECT_TRUE(end.wait({}));
}

// The end comes at all moments around the one at which the waiting thread falls asleep.
TEST(EventEndTest, NoWaitMissesTheEnd) {
  using Clock = std::chrono::steady_clock;
  for (int round = 0; round < 5'000; ++round) {
    EventEnd end(CL_QUEUED);
    std::atomic<bool> is_waiting{false};
    std::thread waiting([&] {
      is_waiting = true;
      const auto begin = Clock::now();
      EXPECT_TRUE(end.wait(begin + std::chrono::seconds(20)));
      EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10)) << "in round " << round;
    });
    while (!is_waiting) {
    }
    const auto at = Clock::now() + std::chrono::nanoseconds(20 * (round % 200));
    while (Clock::now() < at) {
    }
    EXPECT_TRUE(end.claim_report());
    EXPECT_TRUE(end.report(CL_COMPLETE, nullptr));
    waiting.join();
    ASSERT_FALSE(HasFailure());
  }
}

TEST(EventEndTest, ExactlyOneOfManyThreadsEndsIt) {
  for (int round = 0; round < 50; ++round) {
    EventEnd end(CL_QUEUED);
    for (int i = 0; i < 3; ++i) end.add_hold();
    std::atomic<int> ends{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back([&, i] { ends += end.release_hold(i == 1 ? -7 : CL_COMPLETE); });
    threads.emplace_back([&] { ends += end.claim_report() && end.report(CL_COMPLETE, nullptr); });
    if (round % 2 == 0) threads.emplace_back([&] { ends += end.lose(); });
    EXPECT_TRUE(end.wait({}));
    const cl_int status = end.status();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(end.status(), status);
    EXPECT_LT(status, 0);
  }
}

}  // namespace
}  // namespace remotecl
