#include "extras/scheduling/schedule/scheduler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <random>

#include "fixture.h"

namespace {

thread_local std::size_t allocations = 0;

}  // namespace

// Not inlined: the compiler would take malloc() and free() for mismatched pairs with the other operators.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace remotecl::schedule {
namespace {

TEST(SchedulerTest, APlacementIsExplainedAfterItsPolicyIsGone) {
  SmallCluster cluster("earliest-finish");
  cluster.add_speed(1);
  const Placement placement = cluster.place(cluster.scheduler_.add_kernel("k"));
  cluster.use("round-robin");
  EXPECT_NE(explain(placement).find("earliest-finish"), std::string::npos);
}

TEST(SchedulerTest, APlacementHasItsNumbers) {
  SmallCluster cluster("earliest-finish");
  const DeviceId only = cluster.add({.type = DeviceType::kGpu, .speed = 2});
  const KernelId kernel = cluster.scheduler_.add_kernel("k");
  cluster.measure(kernel, only, 10, 2);
  cluster.use("earliest-finish");
  const Placement placement = cluster.place(kernel, 20, 7);
  EXPECT_EQ(placement.device, only);
  EXPECT_EQ(placement.runner_up, kNoDevice);
  EXPECT_EQ(placement.policy->name, "earliest-finish");
  EXPECT_DOUBLE_EQ(placement.estimate.seconds, 4);
  EXPECT_DOUBLE_EQ(placement.estimate.finish, 11);
  EXPECT_TRUE(placement.estimate.measured);
}

TEST(SchedulerTest, ANewKernelIsTakenToBeLikeTheOthers) {
  SmallCluster cluster("earliest-finish");
  const DeviceId slow = cluster.add_speed(1);
  cluster.add_speed(4);
  const KernelId known = cluster.scheduler_.add_kernel("known"), unknown = cluster.scheduler_.add_kernel("unknown");
  cluster.measure(known, slow, 100, 8);
  cluster.use("earliest-finish");
  const Placement placement = cluster.place(unknown, 200);
  EXPECT_FALSE(placement.estimate.measured);
  EXPECT_DOUBLE_EQ(placement.estimate.seconds, 4) << "16 s on the slow one";
}

// The program has waited for its queue, and the report of the kernel's times is still unread.
TEST(SchedulerTest, ATaskMayHavePassedBeforeItsTimesAreKnown) {
  SmallCluster cluster("earliest-finish");
  const DeviceId only = cluster.add_speed(1);
  const KernelId kernel = cluster.scheduler_.add_kernel("k");
  cluster.measure(kernel, only, 1, 4);
  cluster.use("earliest-finish");
  const Placement first = cluster.place(kernel, 1, 0);
  ASSERT_TRUE(first.is_sample);
  const DeviceQueue& queue = cluster.scheduler_.queue(only);
  EXPECT_EQ(queue.backlog(100), 96) << "as long again as it is late";
  cluster.scheduler_.passed(first.ticket, 100);
  cluster.scheduler_.passed(first.ticket, 100);
  EXPECT_EQ(queue.backlog(100), 0);
  const Placement second = cluster.place(kernel, 1, 100);
  EXPECT_DOUBLE_EQ(second.estimate.finish, 104);
  cluster.scheduler_.finished(first.ticket, RunTimes{0, 12}, 101);
  EXPECT_EQ(queue.tasks(), 1u);
  EXPECT_GT(cluster.place(kernel, 1, 200).estimate.seconds, 4) << "its times were learned";
  cluster.scheduler_.failed(second.ticket);
}

TEST(SchedulerTest, AFailedTaskLeavesItsDeviceAndTeachesNothing) {
  SmallCluster cluster("earliest-finish");
  const DeviceId only = cluster.add_speed(1);
  const KernelId kernel = cluster.scheduler_.add_kernel("k");
  const Placement placement = cluster.place(kernel);
  EXPECT_FALSE(placement.estimate.measured);
  EXPECT_EQ(cluster.scheduler_.in_flight(), 1u);
  cluster.scheduler_.failed(placement.ticket);
  cluster.scheduler_.failed(placement.ticket);
  cluster.scheduler_.finished(placement.ticket, 1, 1);
  EXPECT_EQ(cluster.scheduler_.in_flight(), 0u);
  EXPECT_EQ(cluster.scheduler_.queue(only).tasks(), 0u);
  EXPECT_FALSE(cluster.place(kernel, 1, 1).estimate.measured);
}

TEST(SchedulerTest, WhatServersSayMayBeNonsense) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  for (const double figure : {kNan, kInf, -kInf, -1.0, 0.0}) {
    SmallCluster cluster("earliest-finish");
    const DeviceId honest = cluster.add_speed(1);
    cluster.add_speed(figure);
    const KernelId kernel = cluster.scheduler_.add_kernel("k");
    cluster.scheduler_.report(honest, {figure, figure}, 0);
    for (const std::string_view policy : policy_names()) {
      cluster.use(policy);
      for (int i = 0; i < 4; ++i) {
        const Placement placement = cluster.place(kernel);
        if (policy == "static") continue;
        ASSERT_NE(placement.device, kNoDevice) << policy;
        cluster.scheduler_.finished(placement.ticket, figure, 0);
      }
    }
  }
}

// The decisions of a program that goes on and on.
TEST(SchedulerTest, ADecisionAllocatesNothing) {
  for (const std::string_view policy : policy_names()) {
    SCOPED_TRACE(policy);
    SmallCluster cluster(policy);
    for (int i = 0; i < 100; ++i) cluster.add_speed(1 + i % 7);
    const KernelId kernel = cluster.scheduler_.add_kernel("k");
    for (BufferId buffer = 1; buffer < 9; ++buffer) cluster.residency_.put(buffer, 1000, {DeviceId(buffer), 77}, true);
    const std::vector<Access> accesses = {{1, 0, 1000}, {2, 0, 1000}, {3, 0, 1000}, {4, 0, 1000, false, true}};
    std::vector<Ticket> after = {0};
    std::mt19937 random(1);
    std::size_t decided = 0;
    for (int i = 0; i < 2000; ++i) {
      const Task task{.kernel = kernel,
                      .size = std::exp2(random() % 10),
                      .accesses = accesses,
                      .after = after,
                      .named = DeviceId(random() % 100)};
      const std::size_t before = allocations;
      const Placement placement = cluster.scheduler_.place(task, i);
      if (i > 0) decided += allocations - before;
      after[0] = placement.ticket;
      if (i % 3 != 0) cluster.scheduler_.finished(placement.ticket, 0.1, i + 0.5);
    }
    EXPECT_EQ(decided, 0u);
  }
}

// All were placed before the first one has ended and has shown how long they take now.
TEST(SchedulerTest, WhatWaitsIsPlannedAgainWhenKernelsTakeLonger) {
  SmallCluster cluster("earliest-finish");
  const DeviceId device = cluster.add_speed(1);
  const KernelId kernel = cluster.scheduler_.add_kernel("kernel"), other = cluster.scheduler_.add_kernel("other");
  for (const KernelId each : {kernel, other}) cluster.measure(each, device, 1, 0.001);
  cluster.use("earliest-finish");
  const Placement first = cluster.place(kernel, 1, 1);
  for (int i = 0; i < 4; ++i) cluster.place(kernel, 1, 1);
  cluster.place(other, 1, 1);
  cluster.scheduler_.finished(first.ticket, 1, 2);
  const Seconds learned = cluster.scheduler_.kernel(kernel).times.at(1).measured(device);
  EXPECT_GT(learned, 0.4) << "such a difference is no chance";
  EXPECT_NEAR(cluster.scheduler_.queue(device).backlog(2), 4 * learned + 0.001, 1e-6);
}

TEST(SchedulerTest, ABusyDeviceHasOneTaskThatReportsItsEnd) {
  SmallCluster cluster("earliest-finish");
  const DeviceId device = cluster.add_speed(1);
  const KernelId kernel = cluster.scheduler_.add_kernel("kernel");
  for (int i = 0; i < 3; ++i) cluster.scheduler_.finished(cluster.place(kernel, 1, 0).ticket, 0.001, 0);
  const Placement watched = cluster.place(kernel, 1, 1);
  EXPECT_TRUE(watched.is_sample);
  EXPECT_FALSE(cluster.place(kernel, 1, 2).is_sample) << "it has not ended yet";
  EXPECT_NEAR(cluster.scheduler_.queue(device).backlog(2), 1, 0.01) << "so the device is not free";
  cluster.scheduler_.finished(watched.ticket, RunTimes{0, 1}, 2);
  EXPECT_TRUE(cluster.place(kernel, 1, 2).is_sample);
}

}  // namespace
}  // namespace remotecl::schedule
