// Earliest finish, which computes few exact times, finds what it would find if it computed all.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <random>

#include "extras/scheduling/schedule/earliest_finish.h"
#include "fixture.h"

namespace remotecl::schedule {
namespace {

// Earliest finish, and the exact times for comparison.
class Compared : public Policy {
 public:
  explicit Compared(std::size_t& worse) : worse_(worse) {}
  std::string_view name() const override { return "compared"; }
  std::string_view reason() const override { return "compared"; }
  Choice choose(const Situation& situation) override {
    const Choice choice = EarliestFinish().choose(situation);
    Time least = std::numeric_limits<Time>::infinity();
    situation.for_each_candidate(
        [&](DeviceId device) { least = std::min(least, situation.finish(device, situation.runtime(device).seconds)); });
    worse_ += choice.score > least;
    return choice;
  }

 private:
  std::size_t& worse_;
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
    cluster_.scheduler_.set_policy(std::make_unique<Compared>(worse_));
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
  std::size_t worse_ = 0;
  std::deque<Running> running_;
};

TEST_P(ManyDevicesTest, TheBestIsFound) {
  Time now = 0;
  for (int i = 0; i < 1000; ++i) step(now += between(0, 20));
  EXPECT_EQ(worse_, 0u);
}

INSTANTIATE_TEST_SUITE_P(Devices, ManyDevicesTest, testing::Values(16, 256));

}  // namespace
}  // namespace remotecl::schedule
