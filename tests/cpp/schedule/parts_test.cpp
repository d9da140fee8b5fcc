// When and how the scheduler divides a launch by itself.
#include "runtime/schedule/parts.h"

#include <gtest/gtest.h>

#include "fixture.h"

namespace remotecl::schedule {
namespace {

constexpr double kSize = 1 << 20;

// Each device takes so long for all, and in proportion for a share.
PartTimes linear(const std::vector<Seconds>& all) {
  return [all](DeviceId device, double share) { return all[device] * share; };
}

TEST(BalancedParts, AreInProportionToSpeedsWhereDevicesAreFree) {
  const auto seconds = linear({30e-3, 10e-3});
  const auto parts = balanced_parts({{0, 0}, {1, 0}}, seconds);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_NEAR(parts[0].share, 0.25, 1e-9);
  EXPECT_NEAR(parts[1].share, 0.75, 1e-9);
  EXPECT_NEAR(last_end(parts, {{0, 0}, {1, 0}}, seconds), 7.5e-3, 1e-9);
}

TEST(BalancedParts, AddUpHoweverLongTheClockHasRun) {
  const Time now = 1e8;  // three years
  const auto parts = balanced_parts({{0, now}, {1, now}}, linear({30e-3, 10e-3}));
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_NEAR(parts[0].share + parts[1].share, 1, 1e-12);
}

TEST(BalancedParts, EndTogetherWhereADeviceIsFreeLater) {
  const std::vector<Worker> workers{{0, 1.0}, {1, 1.02}, {2, 5.0}};
  const auto seconds = linear({100e-3, 100e-3, 1e-3});
  const auto parts = balanced_parts(workers, seconds);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_NEAR(parts[0].share, 0.6, 1e-9);
  EXPECT_NEAR(parts[1].share, 0.4, 1e-9);
  EXPECT_NEAR(last_end(parts, workers, seconds), 1.06, 1e-9);
}

TEST(BalancedParts, LeaveOutADeviceWhosePartWouldBeTooShort) {
  const auto parts = balanced_parts({{0, 0}, {1, 0}, {2, 9.9e-3}}, linear({20e-3, 20e-3, 20e-3}));
  ASSERT_EQ(parts.size(), 2u);
  for (const Part& part : parts) EXPECT_NEAR(part.share, 0.5, 1e-9);
}

class PartsTest : public ::testing::Test {
 protected:
  DividedPlacement divide(double size = kSize, Time now = 1) {
    Task task;
    task.kernel = kernel_;
    task.size = size;
    task.accesses = whole_;
    const std::vector<Part> parts = cluster_.scheduler_.parts(task, now);
    if (parts.empty()) return {};
    std::vector<Task> tasks;
    std::vector<double> shares;
    for (const Part& part : parts) {
      Task one = task;
      one.size = size * part.share;
      one.only = part.device;
      one.is_part = true;
      one.accesses = slice_;
      tasks.push_back(one);
      shares.push_back(part.share);
    }
    return cluster_.scheduler_.place_parts(task, tasks, shares, now);
  }
  void measure(Seconds one, Seconds other) {
    cluster_.measure(kernel_, one_, kSize, one);
    cluster_.measure(kernel_, other_, kSize, other);
    cluster_.use("earliest-finish");
  }

  SmallCluster cluster_{"earliest-finish"};
  const DeviceId one_ = cluster_.add_speed(1), other_ = cluster_.add_speed(1);
  const KernelId kernel_ = cluster_.scheduler_.add_kernel("kernel");
  std::vector<Access> whole_, slice_;
};

TEST_F(PartsTest, ALongKernelIsDividedByMeasuredTimes) {
  measure(60e-3, 30e-3);
  const DividedPlacement division = divide();
  ASSERT_EQ(division.parts.size(), 2u);
  EXPECT_EQ(division.parts[0].device, one_);
  EXPECT_NEAR(division.shares[0], 1.0 / 3, 1e-6);
  EXPECT_NEAR(division.finish, 1.020, 1e-6);
  EXPECT_TRUE(division.parts[0].is_sample);
  EXPECT_EQ(cluster_.scheduler_.in_flight(), 2u);
  EXPECT_EQ(
      explain(division),
      "divided: 33 % on device 0 in 20.0 ms, 67 % on device 1 in 20.0 ms (earliest-finish: earliest finish): done "
      "in 20.0 ms, then 0.0 us to bring it together; whole on device 1 30.0 ms");
}

TEST_F(PartsTest, AShortKernelIsNotDivided) {
  measure(4e-3, 4e-3);
  EXPECT_TRUE(divide().parts.empty());
}

TEST_F(PartsTest, OnlyDevicesThatHaveRunItHaveParts) {
  cluster_.measure(kernel_, one_, kSize, 60e-3);
  cluster_.use("earliest-finish");
  EXPECT_TRUE(divide().parts.empty());
}

TEST_F(PartsTest, OnlyThePolicyOfEarliestFinishDivides) {
  measure(60e-3, 30e-3);
  cluster_.use("round-robin");
  EXPECT_TRUE(divide().parts.empty());
}

TEST_F(PartsTest, ADeviceThatGainsLittleIsNotWorthIt) {
  measure(200e-3, 20e-3);
  EXPECT_TRUE(divide().parts.empty());
  EXPECT_EQ(cluster_.scheduler_.in_flight(), 0u);
}

TEST_F(PartsTest, WhatMovesAndWhatIsGatheredCounts) {
  measure(30e-3, 30e-3);
  // 4 MB take 5 ms at 1 GB/s, with the latencies there and back.
  cluster_.residency_.put(0, 4'000'000, {one_});
  slice_ = {{.buffer = 0, .bytes = 4'000'000}};
  const DividedPlacement division = divide();
  ASSERT_EQ(division.parts.size(), 2u);
  EXPECT_NEAR(division.finish, 1.021, 1e-6);
  for (const Placement& part : division.parts) cluster_.scheduler_.failed(part.ticket);
  slice_[0].writes = true;
  EXPECT_TRUE(divide().parts.empty());  // 21 ms and 6 ms
  slice_ = {{.buffer = 0, .bytes = 20'000'000}};
  EXPECT_TRUE(divide().parts.empty());
}

TEST_F(PartsTest, PartsStayWhileTimesChangeLittle) {
  measure(30e-3, 30e-3);
  DividedPlacement division = divide();
  ASSERT_EQ(division.parts.size(), 2u);
  const auto end = [&](Seconds first, Seconds second, Time now) {
    cluster_.scheduler_.finished(division.parts[0].ticket, first, now);
    cluster_.scheduler_.finished(division.parts[1].ticket, second, now);
  };
  end(15.4e-3, 14.8e-3, 2);
  division = divide(kSize, 3);
  EXPECT_EQ(division.shares, std::vector<double>({0.5, 0.5}));
  for (Time now = 4; now < 20; ++now) {
    end(division.shares[0] * 60e-3, division.shares[1] * 30e-3, now);
    division = divide(kSize, now);
  }
  EXPECT_NEAR(division.shares[0], 1.0 / 3, 0.03);
}

TEST_F(PartsTest, AKernelThatHasBecomeShortIsMeasuredWhole) {
  measure(30e-3, 30e-3);
  for (Time now = 2; now < 12; ++now) {
    const DividedPlacement division = divide(kSize, now);
    for (const Placement& part : division.parts) cluster_.scheduler_.finished(part.ticket, 2e-3, now + 0.5);
  }
  EXPECT_TRUE(divide(kSize, 20).parts.empty());
}

}  // namespace
}  // namespace remotecl::schedule
