#include "extras/scheduling/schedule/kernel_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace remotecl::schedule {
namespace {

const Device kDevice{.type = DeviceType::kGpu, .speed = 1};

TEST(KernelTimesTest, NothingIsKnownAtFirst) {
  const KernelTimes times;
  EXPECT_EQ(times.at(100).measured(0), 0);
  EXPECT_EQ(times.at(100).predicted(kDevice.pace()), 0);
}

TEST(KernelTimesTest, SizesThatComeAgainAreExact) {
  KernelTimes times;
  times.record(3, kDevice, 1000, 0.5);
  EXPECT_FLOAT_EQ(times.at(1000).measured(3), 0.5);
  EXPECT_EQ(times.at(1000).measured(2), 0) << "another device";
  EXPECT_EQ(times.at(1000).measured(70), 0);
}

TEST(KernelTimesTest, SizesBetweenAreInterpolatedAndBeyondProportional) {
  KernelTimes times;
  times.record(0, kDevice, 100, 1);
  times.record(0, kDevice, 1000, 4);
  EXPECT_FLOAT_EQ(times.at(550).measured(0), 2.5);
  EXPECT_FLOAT_EQ(times.at(2000).measured(0), 8);
  EXPECT_FLOAT_EQ(times.at(50).measured(0), 0.5);
}

TEST(KernelTimesTest, SizesThatOnlyOtherDevicesHaveRunAreFilledIn) {
  KernelTimes times;
  times.record(0, kDevice, 100, 1);
  times.record(0, kDevice, 10'000, 100);
  for (const double size : {10, 1000, 100'000}) times.record(1, kDevice, size, size);
  EXPECT_FLOAT_EQ(times.at(10).measured(0), 0.1);
  EXPECT_FLOAT_EQ(times.at(1000).measured(0), 10);
  EXPECT_FLOAT_EQ(times.at(100'000).measured(0), 1000);
  times.record(0, kDevice, 1000, 20);
  EXPECT_FLOAT_EQ(times.at(1000).measured(0), 20) << "a measurement replaces what was filled in";
}

TEST(KernelTimesTest, TheLatestMeasurementsCountMost) {
  KernelTimes times;
  times.record(0, kDevice, 1, 2);
  times.record(0, kDevice, 1, 4);
  EXPECT_FLOAT_EQ(times.at(1).measured(0), 3);
  for (int i = 0; i < 100; ++i) times.record(0, kDevice, 1, 10);
  EXPECT_NEAR(times.at(1).measured(0), 10, 0.01);
}

TEST(KernelTimesTest, OthersOfTheSameTypePredictBySpeed) {
  KernelTimes times;
  times.record(0, {.type = DeviceType::kCpu, .speed = 1}, 100, 80);
  const Device gpu{.type = DeviceType::kGpu, .speed = 8};
  EXPECT_FLOAT_EQ(times.at(100).predicted(gpu.pace()), 10) << "no GPU has run it";
  times.record(1, {.type = DeviceType::kGpu, .speed = 4}, 100, 4);
  EXPECT_FLOAT_EQ(times.at(100).predicted(gpu.pace()), 2);
}

TEST(KernelTimesTest, NonsenseIsIgnored) {
  KernelTimes times;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  for (const double seconds : {0.0, -1.0, kNan, kInf}) times.record(0, kDevice, 100, seconds);
  times.record(0, kDevice, kInf, 1);
  EXPECT_EQ(times.at(100).measured(0), 0);
  times.record(0, kDevice, 0, 1);
  EXPECT_FLOAT_EQ(times.at(0).measured(0), 1);
}

// A kernel whose time is a constant and a linear part, measured at random sizes, is forecast anywhere between.
TEST(KernelTimesPropertyTest, LinearKernelsAreForecast) {
  std::mt19937 random(5);
  for (int run = 0; run < 50; ++run) {
    SCOPED_TRACE(run);
    KernelTimes times;
    const double constant = 1e-5, each = std::exp2(-20.0 - random() % 10);
    const auto truth = [=](double size) { return constant + each * size; };
    double least = 1e30, most = 0;
    for (int i = 0; i < 200; ++i) {
      const double size = std::exp2(4 + random() % 2000 / 100.0);
      times.record(0, kDevice, size, truth(size));
      least = std::min(least, size);
      most = std::max(most, size);
    }
    for (int i = 0; i < 100; ++i) {
      const double size = least * std::pow(most / least, random() % 1000 / 1000.0);
      // Sizes of one power of two share a row, and are at most twice as large as one another.
      EXPECT_GT(times.at(size).measured(0), truth(size) / 2);
      EXPECT_LT(times.at(size).measured(0), truth(size) * 2);
    }
  }
}

}  // namespace
}  // namespace remotecl::schedule
