#include "runtime/client/upload/upload_link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace remotecl {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kMiB = 1u << 20, kGiB = 1u << 30;
constexpr bool kMeasurable = true;
using Speed = UploadLink::Speed;

// So often the least time that is measured, on a link of so many bytes per second.
void send(UploadLink& link, double bytes_per_s, int times = 3) {
  constexpr double kTime = 0.03;
  for (int i = 0; i < times; ++i) link.sent(static_cast<std::uint64_t>(bytes_per_s * kTime), kTime);
}

void hash(UploadLink& link, std::uint64_t bytes_per_s) {
  for (int i = 0; i < 60; ++i) link.hashed(bytes_per_s, seconds(1));
}

TEST(UploadLinkTest, OffNeverOffersAndAlwaysDoes) {
  UploadLink off(UploadLink::Policy::kOff), always(UploadLink::Policy::kAlways);
  EXPECT_TRUE(always.is_worthwhile()) << "before anything was measured";
  for (const double speed : {1e6, 1e10}) {
    send(off, speed);
    send(always, speed);
    EXPECT_TRUE(off.may_begin(kMeasurable)) << "its speed is of use for others, too";
    EXPECT_FALSE(off.is_worthwhile());
    EXPECT_TRUE(always.may_begin(!kMeasurable));
    EXPECT_TRUE(always.is_worthwhile());
  }
}

TEST(UploadLinkTest, NothingIsOfferedUntilTheLinkIsKnownToBeSlow) {
  UploadLink link(UploadLink::Policy::kAuto);
  EXPECT_FALSE(link.may_begin(!kMeasurable));
  EXPECT_TRUE(link.may_begin(kMeasurable)) << "it may turn out to be slow";
  EXPECT_EQ(link.speed(), Speed::kUnknown);
  EXPECT_FALSE(link.is_worthwhile());
  send(link, 10e6, 2);
  EXPECT_EQ(link.speed(), Speed::kUnknown) << "two measurements may both be those of a process that had no processor";
  EXPECT_FALSE(link.is_worthwhile());
  send(link, 10e6, 1);
  EXPECT_EQ(link.speed(), Speed::kSlow);
  EXPECT_TRUE(link.is_worthwhile());
}

TEST(UploadLinkTest, OneFastMeasurementMakesALinkFast) {
  UploadLink link(UploadLink::Policy::kAuto);
  send(link, 10e6, 1);
  send(link, 1e9, 1);
  EXPECT_EQ(link.speed(), Speed::kFast);
  send(link, 10e6, 1);
  EXPECT_EQ(link.speed(), Speed::kFast);
  EXPECT_FALSE(link.is_worthwhile());
  EXPECT_TRUE(link.may_begin(kMeasurable)) << "it goes on being measured";
  send(link, 10e6, 2);
  EXPECT_EQ(link.speed(), Speed::kSlow) << "it has become slow";
  send(link, 1e9, 1);
  EXPECT_EQ(link.speed(), Speed::kFast) << "and fast again";
}

TEST(UploadLinkTest, FastBytesAreMeasuredAlthoughTheSystemCountsInLongSteps) {
  UploadLink link(UploadLink::Policy::kAuto);
  link.sent(15 * kMiB, 0);
  EXPECT_EQ(link.speed(), Speed::kUnknown);
  link.sent(kMiB, 0);
  EXPECT_EQ(link.speed(), Speed::kFast);
}

TEST(UploadLinkTest, HashingMayTakeAQuarterOfTheTimeThatSendingTakes) {
  for (const std::uint64_t hashing : {kGiB, kGiB / 4}) {
    UploadLink slow(UploadLink::Policy::kAuto), fast(UploadLink::Policy::kAuto);
    hash(slow, hashing);
    hash(fast, hashing);
    send(slow, static_cast<double>(hashing) / 4.1);
    send(fast, static_cast<double>(hashing) / 3.9);
    EXPECT_TRUE(slow.is_worthwhile());
    EXPECT_FALSE(fast.is_worthwhile());
  }
}

// No byte is hashed to learn how fast that is: a link that no processor can keep up with is fast.
TEST(UploadLinkTest, AFastLinkIsKnownBeforeAnythingWasHashed) {
  UploadLink link(UploadLink::Policy::kAuto);
  send(link, 510e6, 1);
  EXPECT_EQ(link.speed(), Speed::kFast);
}

TEST(UploadLinkTest, AServerWithoutAStoreIsNeverAskedAgain) {
  for (const auto policy : {UploadLink::Policy::kAuto, UploadLink::Policy::kAlways}) {
    UploadLink link(policy);
    send(link, 1e6);
    EXPECT_TRUE(link.is_worthwhile());
    link.answered(true);
    EXPECT_TRUE(link.is_worthwhile());
    link.answered(false);
    link.answered(true);
    EXPECT_FALSE(link.is_worthwhile());
  }
}

TEST(UploadLinkTest, TheFastestOfTheLastThreeMeasurementsCounts) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    UploadLink link(UploadLink::Policy::kAuto);
    std::vector<double> rates;
    for (int step = 0; step < 50; ++step) {
      // In parts, of which none is measured alone.
      const std::uint64_t part = 1 + random() % (3 * kMiB);
      for (int i = 0; i < 3; ++i) link.sent(part, 0.01);
      rates.push_back(static_cast<double>(3 * part) / 0.03);
      const auto from = rates.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(rates.size(), 3));
      ASSERT_NEAR(static_cast<double>(link.bytes_per_s()), *std::max_element(from, rates.end()), 2)
          << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace remotecl
