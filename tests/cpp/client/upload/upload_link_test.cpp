#include "runtime/client/upload/upload_link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace remotecl {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kGiB = 1u << 30;
constexpr bool kMeasurable = true;

// Hashing at 1 GiB/s, and a link of so many GiB/s.
void measure(UploadLink& link, std::uint64_t gib_per_64_s) {
  link.hashed(kGiB, seconds(1));
  link.sent(gib_per_64_s * kGiB, seconds(64));
}

TEST(UploadLinkTest, OffNeverOffersAndAlwaysDoes) {
  UploadLink off(UploadLink::Policy::kOff), always(UploadLink::Policy::kAlways);
  for (UploadLink* const link : {&off, &always}) {
    measure(*link, 640);
    link->answered(0, 2 * kGiB, true);
  }
  EXPECT_FALSE(off.may_begin(kMeasurable));
  EXPECT_FALSE(off.is_worthwhile());
  EXPECT_TRUE(always.may_begin(!kMeasurable));
  EXPECT_TRUE(always.is_worthwhile());
}

TEST(UploadLinkTest, AnUnknownLinkIsTriedOnlyWhereItCanBeMeasured) {
  UploadLink link(UploadLink::Policy::kAuto);
  EXPECT_TRUE(link.is_unknown());
  EXPECT_FALSE(link.may_begin(!kMeasurable));
  EXPECT_TRUE(link.may_begin(kMeasurable));
  EXPECT_TRUE(link.is_worthwhile());
}

TEST(UploadLinkTest, ALinkThatIsMoreThanAQuarterAsFastAsHashingIsNotOffered) {
  UploadLink slow(UploadLink::Policy::kAuto), fast(UploadLink::Policy::kAuto);
  measure(slow, 16);
  measure(fast, 17);
  EXPECT_FALSE(slow.is_unknown());
  EXPECT_TRUE(slow.may_begin(kMeasurable));
  EXPECT_TRUE(slow.is_worthwhile());
  EXPECT_FALSE(fast.may_begin(kMeasurable));
  EXPECT_FALSE(fast.is_worthwhile());
}

TEST(UploadLinkTest, OneWriteIn64LooksAgainAtAFastLink) {
  UploadLink link(UploadLink::Policy::kAuto);
  measure(link, 64);
  for (int i = 1; i < 64; ++i) ASSERT_FALSE(link.may_begin(kMeasurable)) << i;
  EXPECT_TRUE(link.may_begin(kMeasurable));
  EXPECT_TRUE(link.is_unknown()) << "the former speed is forgotten";
  link.sent(kGiB, seconds(64));
  EXPECT_TRUE(link.may_begin(kMeasurable)) << "it has become slow";
}

TEST(UploadLinkTest, AfterAGibibyteWithoutASingleHitOnlyOneWriteIn64IsOffered) {
  UploadLink link(UploadLink::Policy::kAuto);
  measure(link, 5);
  link.answered(0, kGiB - 1, true);
  EXPECT_TRUE(link.may_begin(kMeasurable));
  link.answered(0, 1, true);
  for (int round = 0; round < 3; ++round) {
    for (int i = 1; i < 64; ++i) ASSERT_FALSE(link.may_begin(kMeasurable)) << i;
    EXPECT_TRUE(link.may_begin(kMeasurable));
    ASSERT_FALSE(link.may_begin(kMeasurable)) << "the speed is not known again";
    measure(link, 5);
    link.answered(0, 0, true);
    for (int i = 2; i < 64; ++i) ASSERT_FALSE(link.may_begin(kMeasurable)) << i;
    EXPECT_TRUE(link.may_begin(kMeasurable));
    measure(link, 5);
  }
  link.answered(1, 0, true);
  EXPECT_TRUE(link.may_begin(kMeasurable)) << "something was found";
}

// A first process offers all of a large model, so that the second one sends nothing.
TEST(UploadLinkTest, WhereHashingCostsNextToNothingEverythingIsOffered) {
  UploadLink link(UploadLink::Policy::kAuto);
  measure(link, 4);
  for (int i = 0; i < 100; ++i) {
    link.answered(0, kGiB, true);
    ASSERT_TRUE(link.may_begin(kMeasurable)) << i << " GiB";
  }
}

TEST(UploadLinkTest, AServerWithoutAStoreIsNeverAskedAgain) {
  for (const auto policy : {UploadLink::Policy::kAuto, UploadLink::Policy::kAlways}) {
    UploadLink link(policy);
    link.answered(0, 1, false);
    for (int i = 0; i < 200; ++i) ASSERT_FALSE(link.may_begin(kMeasurable));
    EXPECT_FALSE(link.is_worthwhile());
  }
}

TEST(UploadLinkTest, AMeasurementWithoutTimeSaysNothing) {
  UploadLink link(UploadLink::Policy::kAuto);
  link.sent(kGiB, seconds(0));
  EXPECT_TRUE(link.is_unknown());
}

// The newest measurement counts as much as all former ones.
TEST(UploadLinkTest, RatesFollowTheirMeasurements) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    UploadLink link(UploadLink::Policy::kAuto);
    double hashing = 0, sending = 0;
    for (int step = 0; step < 50; ++step) {
      const std::uint64_t bytes = 1 + random() % kGiB;
      const std::chrono::milliseconds time(1 + random() % 5000);
      const double rate = static_cast<double>(bytes) / std::chrono::duration<double>(time).count();
      const bool is_hashing = random() % 2 == 0;
      double& known = is_hashing ? hashing : sending;
      known = known == 0 ? rate : (known + rate) / 2;
      is_hashing ? link.hashed(bytes, time) : link.sent(bytes, time);
      // Where both are about equal, rounding decides.
      if (hashing != 0 && std::max(sending * 4, hashing) < 1.0001 * std::min(sending * 4, hashing)) continue;
      ASSERT_EQ(link.is_worthwhile(), hashing == 0 || sending * 4 <= hashing) << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace remotecl
