// With many devices a decision looks at few of them, and finds what it would find if it looked at all.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <random>

#include "fixture.h"
#include "runtime/schedule/earliest_finish.h"

namespace remotecl::schedule {
namespace {

// Earliest finish, which counts how many devices it looks at, and looks at all for comparison.
class Compared : public Policy {
 public:
  struct Counts {
    std::size_t decisions = 0, looks = 0, most = 0, worse = 0;
  };

  explicit Compared(Counts& counts) : counts_(counts) {}
  std::string_view name() const override { return "compared"; }
  std::string_view reason() const override { return "compared"; }
  Choice choose(const Situation& situation) override {
    const Choice choice = EarliestFinish().choose(situation);
    Time least = std::numeric_limits<Time>::infinity();
    situation.for_each_candidate(
        [&](DeviceId device) { least = std::min(least, situation.finish(device, situation.runtime(device).seconds)); });
    std::size_t looks = 0;
    Time limit = std::numeric_limits<Time>::infinity();
    situation.for_each_candidate_before([&] { return limit; },
                                        [&](DeviceId device, Seconds seconds) {
                                          ++looks;
                                          limit = std::min(limit, situation.finish(device, seconds));
                                        });
    ++counts_.decisions;
    counts_.looks += looks;
    counts_.most = std::max(counts_.most, looks);
    counts_.worse += choice.score > least || limit > least;
    return choice;
  }

 private:
  Counts& counts_;
};

// A program in the middle of its work on devices that others use, too.
class ManyDevicesTest : public testing::TestWithParam<std::size_t> {
 protected:
  static constexpr std::size_t kKernels = 6;

  ManyDevicesTest() {
    for (std::size_t device = 0; device < GetParam(); ++device) {
      cluster_.add({.type = static_cast<DeviceType>(random_() % 3),
                    .speed = std::pow(2, between(0, 7)),
                    .memory_bytes = random_() % 20 == 0 ? 1000u : UINT64_MAX});
    }
    for (std::size_t kernel = 0; kernel < kKernels; ++kernel) {
      const KernelId id = cluster_.scheduler_.add_kernel("k");
      // From next to nothing to nearly everything is measured.
      for (DeviceId device = 0; device < GetParam(); ++device) {
        if (device % kKernels > kernel) continue;
        for (const double size : {100.0, 1000.0}) cluster_.measure(id, device, size, runs(id, device, size));
      }
    }
    cluster_.scheduler_.set_policy(std::make_unique<Compared>(counts_));
  }

  double between(double least, double most) { return std::uniform_real_distribution(least, most)(random_); }
  // By the device's speed, and half as long or twice as long.
  Seconds runs(KernelId kernel, DeviceId device, double size) {
    return (1 + kernel) * size / cluster_.scheduler_.cluster()[device].speed * std::pow(2, between(-1, 1));
  }
  void step(Time now) {
    for (int i = 0; i < 20; ++i) {
      const auto device = static_cast<DeviceId>(random_() % GetParam());
      cluster_.scheduler_.report(device, {random_() % 2 ? between(0, 500) : 0, 1.0 + random_() % 5}, now);
    }
    const auto kernel = static_cast<KernelId>(random_() % kKernels);
    const double size = between(50, 3000);
    std::vector<Ticket> after;
    if (!running_.empty() && random_() % 2) after.push_back(running_.back().ticket);
    const std::vector<Access> accesses = {{random_() % 30, 0, random_() % 2000, true, true}};
    const Placement placed = cluster_.scheduler_.place(
        {.kernel = kernel, .size = size, .accesses = accesses, .bytes = accesses[0].bytes, .after = after}, now);
    ASSERT_NE(placed.device, kNoDevice);
    cluster_.residency_.put(accesses[0].buffer, 1 << 20, {placed.device});
    running_.push_back({placed.ticket, kernel, placed.device, size});
    if (running_.size() < 100) return;
    const Running first = running_.front();
    running_.pop_front();
    if (random_() % 8 == 0) return cluster_.scheduler_.failed(first.ticket);
    cluster_.scheduler_.finished(first.ticket, runs(first.kernel, first.device, first.size), now);
  }

  struct Running {
    Ticket ticket;
    KernelId kernel;
    DeviceId device;
    double size;
  };

  std::mt19937 random_{5};
  SmallCluster cluster_{"static"};
  Compared::Counts counts_;
  std::deque<Running> running_;
};

TEST_P(ManyDevicesTest, TheBestIsFoundAmongFew) {
  Time now = 0;
  for (int i = 0; i < 1000; ++i) step(now += between(0, 20));
  EXPECT_EQ(counts_.worse, 0u);
  if (GetParam() < kManyDevices) return;
  EXPECT_LE(counts_.looks / counts_.decisions, GetParam() / 8);
  EXPECT_LE(counts_.most, GetParam() / 4);
}

INSTANTIATE_TEST_SUITE_P(Devices, ManyDevicesTest, testing::Values(16, 256, 1024));

TEST(DeviceGroupsTest, HaveDevicesOfOneTypeAndSpeed) {
  DeviceGroups groups;
  const GroupId slow = groups.add({.type = DeviceType::kCpu, .speed = 1});
  EXPECT_EQ(groups.add({.type = DeviceType::kCpu, .speed = 1.05}), slow);
  EXPECT_NE(groups.add({.type = DeviceType::kGpu, .speed = 1}), slow);
  EXPECT_NE(groups.add({.type = DeviceType::kCpu, .speed = 1.3}), slow);
  EXPECT_DOUBLE_EQ(groups[slow].pace.slowness, 1 / 1.05) << "of the fastest";
  EXPECT_EQ(groups[slow].devices, (std::vector<DeviceId>{0, 1}));
  EXPECT_EQ(groups.position(1), slow * DeviceGroups::kSize + 1);
}

TEST(DeviceGroupsTest, AreSmall) {
  DeviceGroups groups;
  for (std::size_t i = 0; i < 2 * DeviceGroups::kSize + 1; ++i) groups.add({});
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[1].devices.size(), DeviceGroups::kSize);
  EXPECT_EQ(groups[2].devices.size(), 1u);
}

}  // namespace
}  // namespace remotecl::schedule
