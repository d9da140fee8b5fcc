#include "runtime/client/session/prompt_waits.h"

#include <gtest/gtest.h>

namespace remotecl {
namespace {

constexpr std::int64_t kUs = 1000;

class PromptWaitsTest : public ::testing::Test {
 protected:
  // A command, and a wait so much later.
  void wait_after(std::int64_t us) {
    now_ns_ += 1000 * kUs;
    waits_.add_command(now_ns_);
    waits_.add_wait(now_ns_ + us * kUs);
  }
  void learn() {
    for (int i = 0; i < 8; ++i) wait_after(49);
  }

  std::int64_t now_ns_ = 0;
  PromptWaits waits_;
};

TEST_F(PromptWaitsTest, EightInARowMakeANinthExpected) {
  for (int i = 0; i < 7; ++i) wait_after(49);
  EXPECT_FALSE(waits_.expects_wait());
  wait_after(49);
  EXPECT_TRUE(waits_.expects_wait());
}

TEST_F(PromptWaitsTest, ALateWaitBeginsANewRow) {
  learn();
  wait_after(51);
  EXPECT_FALSE(waits_.expects_wait());
  learn();
  EXPECT_TRUE(waits_.expects_wait());
}

TEST_F(PromptWaitsTest, TheFirstOfSeveralCommandsCounts) {
  learn();
  now_ns_ += 1000 * kUs;
  waits_.add_command(now_ns_);
  waits_.add_command(now_ns_ + 40 * kUs);
  waits_.add_wait(now_ns_ + 60 * kUs);
  EXPECT_FALSE(waits_.expects_wait());
}

TEST_F(PromptWaitsTest, APauseCountsOnlyAfterACommand) {
  learn();
  waits_.add_pause();
  EXPECT_TRUE(waits_.expects_wait());
  waits_.add_command(now_ns_ + 1000 * kUs);
  waits_.add_pause();
  EXPECT_FALSE(waits_.expects_wait());
}

}  // namespace
}  // namespace remotecl
