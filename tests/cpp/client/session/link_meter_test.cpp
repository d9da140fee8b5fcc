#include "runtime/client/session/link_meter.h"

#include <gtest/gtest.h>

namespace remotecl {
namespace {

using Way = LinkMeter::Way;
constexpr std::uint64_t kMega = 1'000'000;

LinkMeter::Clock::time_point at(double seconds) {
  return LinkMeter::Clock::time_point() +
         std::chrono::duration_cast<LinkMeter::Clock::duration>(std::chrono::duration<double>(seconds));
}

TEST(LinkMeterTest, EachWayIsMeasuredByItself) {
  LinkMeter meter;
  EXPECT_EQ(meter.bytes_per_s(Way::kUp), 0);
  meter.begin(Way::kUp, at(1));
  meter.begin(Way::kDown, at(1));
  meter.end(Way::kUp, 8 * kMega, at(1.5));
  EXPECT_DOUBLE_EQ(meter.bytes_per_s(Way::kUp), 16e6);
  EXPECT_EQ(meter.bytes_per_s(Way::kDown), 0);
  meter.end(Way::kDown, 8 * kMega, at(3));
  EXPECT_DOUBLE_EQ(meter.bytes_per_s(Way::kDown), 4e6);
}

// Two that share the link from begin to end: by its own times, the second one would have come at 16 GB/s.
TEST(LinkMeterTest, TransfersThatOverlapAreOne) {
  LinkMeter meter;
  meter.begin(Way::kUp, at(0));
  meter.begin(Way::kUp, at(0));
  meter.end(Way::kUp, 8 * kMega, at(0.9995));
  EXPECT_EQ(meter.bytes_per_s(Way::kUp), 0) << "the link is not idle yet";
  meter.end(Way::kUp, 8 * kMega, at(1));
  EXPECT_DOUBLE_EQ(meter.bytes_per_s(Way::kUp), 16e6);
}

TEST(LinkMeterTest, ALinkThatIsNeverIdleIsMeasured) {
  LinkMeter meter;
  meter.begin(Way::kUp, at(0));
  for (int second = 1; second <= 10; ++second) {
    meter.begin(Way::kUp, at(second));
    meter.end(Way::kUp, 10 * kMega, at(second));
  }
  EXPECT_DOUBLE_EQ(meter.bytes_per_s(Way::kUp), 10e6);
}

TEST(LinkMeterTest, AFailedTransferMeasuresNothing) {
  LinkMeter meter;
  meter.begin(Way::kUp, at(0));
  meter.begin(Way::kUp, at(0));
  meter.end(Way::kUp, 0, at(1));
  meter.end(Way::kUp, 8 * kMega, at(2));
  EXPECT_EQ(meter.bytes_per_s(Way::kUp), 0);
  meter.begin(Way::kUp, at(3));
  meter.end(Way::kUp, 8 * kMega, at(4));
  EXPECT_DOUBLE_EQ(meter.bytes_per_s(Way::kUp), 8e6);
}

// Where nobody reads for 40 ms, a transfer of 4 ms seems to take ten times as long.
TEST(LinkMeterTest, ALateReportCountsLittleUnlessItIsSlowInAnyCase) {
  LinkMeter meter;
  meter.begin(Way::kUp, at(0));
  meter.end(Way::kUp, 4 * kMega, at(0.004));
  EXPECT_NEAR(meter.bytes_per_s(Way::kUp), 1e9, 1);
  meter.begin(Way::kUp, at(1));
  meter.end(Way::kUp, 4 * kMega, at(1.04));
  EXPECT_GT(meter.bytes_per_s(Way::kUp), 0.8e9);
  const double before = meter.bytes_per_s(Way::kUp);
  meter.begin(Way::kUp, at(2));
  meter.end(Way::kUp, 4 * kMega, at(2.4));
  EXPECT_LT(meter.bytes_per_s(Way::kUp), 0.6 * before) << "the link has become slow";
}

}  // namespace
}  // namespace remotecl
