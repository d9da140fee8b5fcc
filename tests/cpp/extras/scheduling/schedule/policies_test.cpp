#include <gtest/gtest.h>

#include <map>

#include "fixture.h"

namespace remotecl::schedule {
namespace {

// What each policy owes.
class EachPolicyTest : public testing::TestWithParam<std::string_view> {};

TEST_P(EachPolicyTest, HasItsName) {
  const auto policy = make_policy(GetParam());
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->name(), GetParam());
  EXPECT_FALSE(policy->reason().empty());
}

TEST_P(EachPolicyTest, PlacesOnlyWhereTheKernelRuns) {
  SmallCluster cluster(GetParam());
  const DeviceId fpga = cluster.add({.type = DeviceType::kAccelerator, .builds = false, .speed = 100});
  const DeviceId small = cluster.add({.speed = 50, .memory_bytes = 1000});
  const DeviceId lost = cluster.add_speed(200);
  const DeviceId fits = cluster.add_speed(1);
  cluster.scheduler_.set_present(lost, false);
  const KernelId kernel = cluster.scheduler_.add_kernel("k");
  for (const DeviceId named : {fpga, small, lost, fits, kNoDevice, DeviceId{77}}) {
    Task task{.kernel = kernel, .size = 1, .accesses = {}, .bytes = 2000, .after = {}, .named = named};
    const Placement placement = cluster.scheduler_.place(task, 0);
    EXPECT_EQ(placement.device, fits);
    EXPECT_NE(placement.ticket, 0u);
  }
}

TEST_P(EachPolicyTest, WhatFitsNowhereGoesToTheLargestThatRunsIt) {
  SmallCluster cluster(GetParam());
  cluster.add({.builds = false, .memory_bytes = 5000});
  cluster.add({.memory_bytes = 1000});
  const DeviceId largest = cluster.add({.memory_bytes = 3000});
  const KernelId kernel = cluster.scheduler_.add_kernel("k");
  const Task task{.kernel = kernel, .size = 1, .accesses = {}, .bytes = 4000, .after = {}};
  EXPECT_EQ(cluster.scheduler_.place(task, 0).device, largest);
}

TEST_P(EachPolicyTest, SaysWhenNothingIsThere) {
  SmallCluster cluster(GetParam());
  const KernelId kernel = cluster.scheduler_.add_kernel("k");
  EXPECT_EQ(cluster.place(kernel).device, kNoDevice);
  const DeviceId device = cluster.add_speed(1);
  cluster.scheduler_.set_present(device, false);
  EXPECT_EQ(cluster.place(kernel).device, kNoDevice);
}

TEST_P(EachPolicyTest, UsesADeviceThatGetsTheBinaryLater) {
  SmallCluster cluster(GetParam());
  const DeviceId fpga = cluster.add({.builds = false});
  const KernelId one = cluster.scheduler_.add_kernel("one"), other = cluster.scheduler_.add_kernel("other");
  cluster.scheduler_.add_binary(one, fpga);
  Task task{.kernel = one, .size = 1, .accesses = {}, .after = {}, .named = fpga};
  EXPECT_EQ(cluster.scheduler_.place(task, 0).device, fpga);
  task.kernel = other;
  EXPECT_EQ(cluster.scheduler_.place(task, 0).device, kNoDevice);
}

INSTANTIATE_TEST_SUITE_P(All, EachPolicyTest, testing::ValuesIn(policy_names().begin(), policy_names().end()),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::erase(name, '-');
                           return name;
                         });

TEST(PoliciesTest, AnUnknownNameIsNone) { EXPECT_FALSE(make_policy("fastest")); }

TEST(NamedDeviceTest, GoesWhereTheUserSaysOrToTheFirstThatRunsIt) {
  SmallCluster cluster("static");
  const DeviceId fpga = cluster.add({.builds = false});
  const DeviceId first = cluster.add_speed(1), named = cluster.add_speed(1);
  const KernelId kernel = cluster.scheduler_.add_kernel("k");
  Task task{.kernel = kernel, .size = 1, .accesses = {}, .after = {}, .named = named};
  EXPECT_EQ(cluster.scheduler_.place(task, 0).device, named);
  task.named = fpga;
  EXPECT_EQ(cluster.scheduler_.place(task, 0).device, first);
}

TEST(RoundRobinTest, EachInTurn) {
  SmallCluster cluster("round-robin");
  for (int i = 0; i < 3; ++i) cluster.add_speed(i + 1);
  const KernelId kernel = cluster.scheduler_.add_kernel("k");
  cluster.scheduler_.set_present(1, false);
  std::vector<DeviceId> devices;
  for (int i = 0; i < 4; ++i) devices.push_back(cluster.place(kernel).device);
  EXPECT_EQ(devices, (std::vector<DeviceId>{0, 2, 0, 2}));
}

TEST(LeastLoadedTest, TheFastestOfTheIdleAndThenTheFirstThatIsFree) {
  SmallCluster cluster("least-loaded");
  const DeviceId slow = cluster.add_speed(1), fast = cluster.add_speed(2);
  const KernelId kernel = cluster.scheduler_.add_kernel("k");
  EXPECT_EQ(cluster.place(kernel).device, fast);
  EXPECT_EQ(cluster.place(kernel).device, slow);
  EXPECT_EQ(cluster.place(kernel).device, fast) << "it is free first";
  cluster.scheduler_.report(fast, {10, 1}, 0);
  EXPECT_EQ(cluster.place(kernel).device, slow) << "others use it";
}

class EarliestFinishTest : public testing::Test {
 protected:
  EarliestFinishTest() {
    slow_ = cluster_.add_speed(1);
    fast_ = cluster_.add_speed(10);
    kernel_ = cluster_.scheduler_.add_kernel("k");
    cluster_.measure(kernel_, slow_, 1, 1);
    cluster_.measure(kernel_, fast_, 1, 0.3);
    cluster_.use("earliest-finish");
  }

  SmallCluster cluster_{"earliest-finish"};
  DeviceId slow_ = 0, fast_ = 0;
  KernelId kernel_ = 0;
};

TEST_F(EarliestFinishTest, MeasuredTimesDecide) {
  std::map<DeviceId, int> count;
  for (int i = 0; i < 13; ++i) ++count[cluster_.place(kernel_).device];
  EXPECT_EQ(count[fast_], 10) << "3.0 s, while the other one does 3 in 3 s";
  EXPECT_EQ(count[slow_], 3);
}

TEST_F(EarliestFinishTest, ADeviceMaySuitOneKernelOnly) {
  const KernelId other = cluster_.scheduler_.add_kernel("other");
  cluster_.measure(other, slow_, 1, 0.1);
  cluster_.measure(other, fast_, 1, 2);
  cluster_.use("earliest-finish");
  EXPECT_EQ(cluster_.place(other).device, slow_);
  EXPECT_EQ(cluster_.place(kernel_).device, fast_);
}

TEST_F(EarliestFinishTest, DataMayBeTooFarAway) {
  const std::vector<Access> accesses = {{1, 0, 500'000'000}, {2, 0, 500'000'000}};
  const Task task{.kernel = kernel_, .size = 1, .accesses = accesses, .after = {}, .named = kNoDevice};
  cluster_.residency_.put(1, 500'000'000, {slow_});
  const Placement near = cluster_.scheduler_.place(task, 0);
  EXPECT_EQ(near.device, fast_) << "0.5 s and 2 ms for the data, 0.3 s for the kernel";
  EXPECT_DOUBLE_EQ(near.estimate.transfer, 0.502);
  EXPECT_EQ(near.estimate.bytes, 500'000'000u);
  EXPECT_DOUBLE_EQ(near.score, near.estimate.finish);
  EXPECT_EQ(near.runner_up, slow_) << "where the data is";
  EXPECT_DOUBLE_EQ(near.second, 1);
  cluster_.scheduler_.failed(near.ticket);
  cluster_.residency_.put(2, 500'000'000, {slow_});
  EXPECT_EQ(cluster_.scheduler_.place(task, 0).device, slow_);
}

TEST_F(EarliestFinishTest, OthersLoadCountsByWeight) {
  cluster_.scheduler_.report(fast_, {100, 1}, 0);
  EXPECT_EQ(cluster_.place(kernel_).device, fast_) << "half of it is ours: 0.6 s";
  EXPECT_EQ(cluster_.place(kernel_).device, slow_) << "1.2 s there";
  cluster_.scheduler_.report(slow_, {100, 4}, 0);
  EXPECT_EQ(cluster_.place(kernel_).device, fast_);
}

TEST_F(EarliestFinishTest, AnInOrderQueueMayChangeDevicesOnlyAfterItsLastTask) {
  const Placement first = cluster_.place(kernel_);
  const Placement second = cluster_.place(kernel_, 1, 0, {first.ticket});
  EXPECT_EQ(second.device, fast_);
  const Placement third = cluster_.place(kernel_, 1, 0, {second.ticket});
  EXPECT_NEAR(third.ready, 0.6, 1e-6);
  EXPECT_EQ(third.device, fast_) << "the other one would be idle, and end later";
  EXPECT_NEAR(third.estimate.finish, 0.9, 1e-6);
}

TEST_F(EarliestFinishTest, ATaskThatHasEndedIsNotWaitedFor) {
  const Placement first = cluster_.place(kernel_);
  cluster_.scheduler_.finished(first.ticket, 0.3, 0.25);
  EXPECT_EQ(cluster_.place(kernel_, 1, 0.25, {first.ticket}).ready, 0.25);
}

// A device that nobody has tried is tried, and not again if it was bad.
TEST_F(EarliestFinishTest, WhatIsUnknownIsTried) {
  const DeviceId unknown = cluster_.add_speed(8);
  Time now = 0;
  int tried = 0;
  for (int i = 0; i < 1000; ++i) {
    const Placement placement = cluster_.place(kernel_, 1, now);
    if (placement.device == unknown) ++tried;
    const double seconds = placement.device == unknown ? 3 : 0.3;
    now += seconds;
    cluster_.scheduler_.finished(placement.ticket, seconds, now);
  }
  EXPECT_EQ(tried, 1);
}

// However many devices are worse than their speeds say: trials cost little, and one of each is enough.
TEST_F(EarliestFinishTest, TrialsCostABoundedShare) {
  std::vector<DeviceId> bad;
  for (int i = 0; i < 50; ++i) bad.push_back(cluster_.add_speed(30));
  Time now = 0;
  double wasted = 0, total = 0;
  for (int i = 0; i < 2000; ++i) {
    const Placement placement = cluster_.place(kernel_, 1, now);
    const double seconds = placement.device == fast_ ? 0.3 : placement.device == slow_ ? 1 : 2;
    if (placement.device > fast_) wasted += seconds - 0.3;
    total += seconds;
    now += seconds;
    cluster_.scheduler_.finished(placement.ticket, seconds, now);
  }
  EXPECT_LE(wasted, 50 * 1.7 + 1e-6) << "once each";
  EXPECT_GT(wasted, 0);
  EXPECT_LE(cluster_.scheduler_.kernel(kernel_).exploration.spent(), wasted + 1e-6);
}

// A burst comes before the first result: it is spread by speed, and not all of it follows the first.
TEST(EarliestFinishBurstTest, ANewKernelIsSpreadBySpeed) {
  SmallCluster cluster("earliest-finish");
  const DeviceId slow = cluster.add_speed(1), fast = cluster.add_speed(3);
  const KernelId kernel = cluster.scheduler_.add_kernel("k");
  std::map<DeviceId, int> count;
  for (int i = 0; i < 400; ++i) ++count[cluster.place(kernel).device];
  EXPECT_NEAR(count[slow], 100, 5);
  EXPECT_NEAR(count[fast], 300, 5);
}

}  // namespace
}  // namespace remotecl::schedule
