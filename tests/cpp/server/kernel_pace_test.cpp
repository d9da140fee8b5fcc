#include "server/program/kernel_pace.h"

#include <gtest/gtest.h>

#include "server/execution/trace_span.h"

namespace remotecl::server {
namespace {

constexpr std::uint64_t kQuick = 1'000, kSlow = 100'000, kItems = 64;

class KernelPaceTest : public ::testing::Test {
 protected:
  void ended(std::uint64_t took_ns, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) pace_->ended(took_ns, kItems, 1);
  }
  Ref<KernelPace> pace_ = make_ref<KernelPace>();
};

TEST_F(KernelPaceTest, AKernelIsQuickOnceItHasBeenSeenSoOftenEnough) {
  ended(kQuick, 15);
  EXPECT_FALSE(pace_->is_quick(kItems));
  ended(kQuick, 1);
  EXPECT_TRUE(pace_->is_quick(kItems));
}

TEST_F(KernelPaceTest, MoreWorkThanWasSeenMayTakeLonger) {
  ended(kQuick, 100);
  EXPECT_TRUE(pace_->is_quick(1));
  EXPECT_FALSE(pace_->is_quick(kItems + 1));
}

TEST_F(KernelPaceTest, ASlowKernelIsNotQuick) {
  ended(kSlow, 100);
  EXPECT_FALSE(pace_->is_quick(kItems));
  // One that is quick every other time is not, either.
  for (int i = 0; i < 100; ++i) {
    ended(kQuick, 1);
    ended(kSlow, 1);
    EXPECT_FALSE(pace_->is_quick(kItems));
  }
}

TEST_F(KernelPaceTest, ARareDelayIsForgivenAndASlowSpanEndsIt) {
  pace_->ended(kQuick, kItems, 1000);
  pace_->ended(kSlow, 0, 32);
  EXPECT_TRUE(pace_->is_quick(kItems));
  for (int i = 0; i < 7; ++i) pace_->ended(kSlow, 0, 32);
  EXPECT_FALSE(pace_->is_quick(kItems));
  EXPECT_FALSE(pace_->is_quick(0));
}

TEST_F(KernelPaceTest, ASpanTakesAFewKernels) {
  TraceSpan span;
  std::vector<Ref<KernelPace>> kernels;
  for (std::size_t i = 0; i < span.paces.size(); ++i) {
    kernels.push_back(make_ref<KernelPace>());
    EXPECT_TRUE(span.take(*kernels.back()));
  }
  for (const Ref<KernelPace>& known : kernels) EXPECT_TRUE(span.take(*known));
  EXPECT_FALSE(span.take(*pace_));
}

TEST_F(KernelPaceTest, ASpanEndsBeforeItTakesTooLong) {
  ended(20'000, 100);
  EXPECT_NEAR(static_cast<double>(pace_->expected_ns()), 20'000, 100);
  const auto commands = [](std::uint64_t takes_ns) {
    TraceSpan span;
    for (; !span.ends_with(takes_ns); ++span.count) {
      EXPECT_FALSE(span.needs_event(true, takes_ns));
      span.expected_ns += takes_ns;
    }
    EXPECT_TRUE(span.needs_event(true, takes_ns));
    return span.count + 1;
  };
  EXPECT_EQ(commands(20'000), TraceSpan::kTakesNsMax / 20'000);
  EXPECT_EQ(commands(1'000), TraceSpan::kCommandsMax);
}

TEST_F(KernelPaceTest, OutOfOrderEverySixteenthOfASpanHasAnEvent) {
  TraceSpan span;
  EXPECT_TRUE(span.needs_event(false, kQuick));
  for (span.count = 1; span.count < 16; ++span.count) EXPECT_FALSE(span.needs_event(false, kQuick));
  EXPECT_TRUE(span.needs_event(false, kQuick));
}

}  // namespace
}  // namespace remotecl::server
