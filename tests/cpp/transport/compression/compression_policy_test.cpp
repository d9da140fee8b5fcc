// When compressing pays: a link and a compressor of given speeds, with no clock but the sums.
#include "runtime/transport/compression/compression_policy.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace remotecl {
namespace {

using Step = CompressionPolicy::Step;

// What a sender does, and how long it takes.
class Sender {
 public:
  static constexpr std::size_t kPiece = 256u << 10;

  // `knows`: the system says what the link delivers.
  explicit Sender(double link, CompressionMode mode = CompressionMode::kAuto, bool knows = true)
      : policy_(mode), link_(link), knows_(knows) {}

  // `fraction`: what compressing leaves; `speed`: of the compressor.
  void send(std::size_t bytes, double fraction, double speed = 300e6) {
    for (std::size_t at = 0; at < bytes; at += kPiece) send_piece(fraction, speed);
  }
  static constexpr double kRoundTrip = 100e-6;

  double seconds = 0, traveled = 0, compressing = 0;
  void set_link(double link) { link_ = link; }

 private:
  void send_piece(double fraction, double speed) {
    constexpr double kSample = 16u << 10;
    Step step = policy_.next(kPiece);
    if (step == Step::kSample) {
      spend(kSample / speed);
      policy_.sampled(kSample, static_cast<std::size_t>(kSample * fraction), kSample / speed);
      step = policy_.next(kPiece);
    }
    const auto packed = static_cast<std::size_t>(kPiece * fraction);
    bool is_packed = false;
    if (step == Step::kCompress) {
      spend(kPiece / speed);
      is_packed = policy_.compressed(kPiece, packed, kPiece / speed);
    }
    const double bytes = is_packed ? static_cast<double>(packed) : kPiece;
    seconds += bytes / link_;
    traveled += bytes;
    is_packed ? policy_.wrote_compressed(bytes / link_) : policy_.wrote(kPiece, kPiece / link_);
    if (knows_) policy_.delivered(static_cast<std::uint64_t>(traveled), busy_ += std::max(bytes / link_, kRoundTrip));
  }
  void spend(double time) { seconds += time, compressing += time; }

  CompressionPolicy policy_;
  double link_, busy_ = 0;
  const bool knows_;
};

constexpr std::size_t kMuch = 64u << 20;

TEST(CompressionPolicy, CompressesOnASlowLinkWhatBecomesSmaller) {
  Sender sender(12.5e6);
  sender.send(kMuch, 0.3);
  EXPECT_LT(sender.traveled, 0.32 * kMuch);
}

TEST(CompressionPolicy, KnowsTheLinkWithoutTheSystem) {
  Sender sender(12.5e6, CompressionMode::kAuto, false);
  sender.send(kMuch, 0.3);
  EXPECT_LT(sender.traveled, 0.32 * kMuch);
}

TEST(CompressionPolicy, TakesNoTimeForWhatDoesNotBecomeSmaller) {
  for (const double link : {2.5e6, 12.5e6, 125e6}) {
    Sender sender(link);
    sender.send(kMuch, 1, 200e6);
    EXPECT_LT(sender.compressing, 0.01 * kMuch / link) << link;
  }
}

TEST(CompressionPolicy, LeavesFastLinksAlone) {
  Sender sender(1.25e9);
  sender.send(kMuch, 0.01);
  EXPECT_EQ(sender.compressing, 0);
  EXPECT_EQ(sender.traveled, kMuch);
}

TEST(CompressionPolicy, IsNeverSlowerWhateverTheLinkAndTheBytes) {
  for (const double link : {1e6, 12.5e6, 60e6, 125e6, 300e6, 500e6, 5e9}) {
    for (const double fraction : {0.001, 0.3, 0.6, 0.9, 0.95, 0.98, 1.0}) {
      Sender sender(link);
      sender.send(kMuch, fraction);
      EXPECT_LT(sender.seconds, 1.02 * kMuch / link) << link << " " << fraction;
    }
  }
}

TEST(CompressionPolicy, StopsWhenTheLinkBecomesFast) {
  Sender sender(12.5e6);
  sender.send(kMuch, 0.3);
  sender.set_link(1e9);
  sender.seconds = 0;
  sender.send(16 * kMuch, 0.3);
  EXPECT_LT(sender.seconds, 1.02 * 16 * kMuch / 1e9);
}

// Of which so little is left that the link is hardly used.
TEST(CompressionPolicy, StopsForZerosToo) {
  Sender sender(50e6);
  sender.send(kMuch, 0.0001);
  sender.set_link(2e9);
  sender.seconds = 0;
  sender.send(64 * kMuch, 0.0001);
  EXPECT_LT(sender.seconds, 0.3 + 64 * kMuch / 2e9);
}

TEST(CompressionPolicy, MeasuresOftenEnoughAndNotTooOften) {
  Sender sender(12.5e6);
  sender.send(64 * kMuch, 0.0001, 5e9);
  EXPECT_LT(sender.seconds, 1.05 * 64 * kMuch / 5e9 + 0.1);
}

TEST(CompressionPolicy, NoticesThatTheBytesHaveChanged) {
  Sender sender(12.5e6);
  sender.send(kMuch, 1);
  sender.traveled = 0;
  sender.send(kMuch, 0.25);
  EXPECT_LT(sender.traveled, 0.4 * kMuch) << "no more than the longest pause travels as it is";
}

TEST(CompressionPolicy, FollowsItsSetting) {
  Sender off(1e6, CompressionMode::kOff), always(5e9, CompressionMode::kAlways);
  off.send(kMuch, 0.3);
  always.send(kMuch, 0.3);
  EXPECT_EQ(off.compressing, 0);
  EXPECT_LT(always.traveled, 0.31 * kMuch);
}

}  // namespace
}  // namespace remotecl
