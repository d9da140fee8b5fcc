#include "runtime/client/support/clock_line.h"

#include <gtest/gtest.h>

namespace remotecl {
namespace {

TEST(ClockLineTest, OnePointIsAnOffset) {
  EXPECT_EQ(ClockLine().to_host(7), 7u);
  EXPECT_EQ(ClockLine({1000, std::uint64_t(-500)}).to_host(2500), 2000u);
}

// It gains 1 us in 1 s.
TEST(ClockLineTest, DriftIsTakenOut) {
  const ClockLine line({1'000'000'000, std::uint64_t(-5000)}, {2'000'000'000, std::uint64_t(-6000)});
  EXPECT_EQ(line.to_host(1'000'005'000), 1'000'000'000u);
  EXPECT_NEAR(double(line.to_host(1'500'005'500)), 1'500'000'000.0, 1);
  EXPECT_NEAR(double(line.to_host(2'000'006'000)), 2'000'000'000.0, 1);
}

TEST(ClockLineTest, AnotherClockDriftsAlike) {
  const ClockLine server({1'000'000'000, 0}, {2'000'000'000, std::uint64_t(-1000)});
  const ClockLine device = server.through({2'000'000'000, 41'000});
  EXPECT_NEAR(double(device.to_host(1'999'959'000)), 2e9, 1);
  EXPECT_NEAR(double(device.to_host(999'958'000)), 1e9, 1);
}

TEST(ClockLineTest, LiesOfAServerDoNoHarm) {
  const ClockLine line({1000, 1}, {2000, ~std::uint64_t{0} / 2});
  EXPECT_EQ(line.to_host(5), 6u);
  line.to_host(~std::uint64_t{0});
}

}  // namespace
}  // namespace remotecl
