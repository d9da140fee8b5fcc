#include "runtime/sharing/token_bucket.h"

#include <gtest/gtest.h>

#include <random>

namespace remotecl {
namespace {

using namespace std::chrono_literals;

const TokenBucket::Time kStart{1000s};

TEST(TokenBucketTest, WhoHasTakenNothingMayGo) { EXPECT_EQ(TokenBucket(1).debt(kStart), 0s); }

TEST(TokenBucketTest, WhatIsMoreThanAPauseIsWorthHasToBePaidFor) {
  TokenBucket bucket(1000);
  bucket.take(50, kStart);
  EXPECT_EQ(bucket.debt(kStart), 0s);
  bucket.take(1000, kStart);
  EXPECT_EQ(std::chrono::round<std::chrono::milliseconds>(bucket.debt(kStart)), 1s);
  EXPECT_EQ(std::chrono::round<std::chrono::milliseconds>(bucket.debt(kStart + 400ms)), 600ms);
  EXPECT_EQ(bucket.debt(kStart + 1100ms), 0s);
}

// Whatever is taken, and whenever, by somebody who waits as long as asked.
TEST(TokenBucketTest, NobodyGoesFasterThanTheRate) {
  constexpr std::uint64_t kRate = 1'000'000;
  std::mt19937 random(7);
  for (int run = 0; run < 50; ++run) {
    TokenBucket bucket(kRate);
    auto now = kStart;
    double taken = 0;
    for (int i = 0; i < 500; ++i) {
      const std::uint64_t size = random() % 200'000;
      now += bucket.debt(now);
      // Up to here, before this one: the rate, and one pause's worth.
      EXPECT_LE(taken, std::chrono::duration<double>(now - kStart).count() * kRate + 0.0501 * kRate);
      bucket.take(size, now);
      taken += static_cast<double>(size);
      if (random() % 4 == 0) now += std::chrono::milliseconds(random() % 100);
    }
    EXPECT_GT(taken, std::chrono::duration<double>(now - kStart).count() * kRate * 0.3) << "it does go";
  }
}

TEST(TokenBucketTest, WhoNeverPausesGetsTheRate) {
  TokenBucket bucket(1'000'000);
  auto now = kStart;
  for (int i = 0; i < 1000; ++i) {
    now += bucket.debt(now);
    bucket.take(10'000, now);
  }
  EXPECT_NEAR(std::chrono::duration<double>(now - kStart).count(), 10.0, 0.1);
}

}  // namespace
}  // namespace remotecl
