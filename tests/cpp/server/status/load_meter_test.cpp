// How long a device takes for its work, as its progress shows.
#include "server/status/load_meter.h"

#include <gtest/gtest.h>

namespace remotecl::server {
namespace {

using namespace std::chrono_literals;

class LoadMeterTest : public ::testing::Test {
 protected:
  void look(std::uint64_t ended, bool is_running) { meter_.look(now_ += 10ms, ended, is_running); }

  LoadMeter::Time now_{1h};
  LoadMeter meter_;
};

TEST_F(LoadMeterTest, GuessesALittleWhileNothingIsKnown) {
  look(0, false);
  EXPECT_GT(meter_.seconds(10, false), 0);
  EXPECT_LT(meter_.seconds(10, false), 0.1);
  EXPECT_EQ(meter_.seconds(0, false), 0);
}

TEST_F(LoadMeterTest, LearnsFromEnds) {
  look(0, false);
  for (std::uint64_t ended = 0; ended < 200; ended += 2) look(ended, true);
  EXPECT_NEAR(meter_.seconds(100, true), 100 * 5e-3, 0.01);
  for (std::uint64_t i = 0; i < 20; ++i) look(200 + 10 * i, true);
  EXPECT_NEAR(meter_.seconds(100, true), 100 * 1e-3, 0.02) << "what ended recently counts";
}

TEST_F(LoadMeterTest, IdleTimeIsNoWork) {
  look(0, true);
  look(0, true);
  look(1, false);
  const double before = meter_.seconds(1, false);
  for (int i = 0; i < 100; ++i) look(1, false);
  look(1, true);
  look(2, false);
  EXPECT_NEAR(meter_.seconds(1, false), before, before / 2) << "not the second in between";
}

TEST_F(LoadMeterTest, ALongCommandIsNoticedBeforeItEnds) {
  look(0, false);
  for (int i = 0; i < 100; ++i) look(0, true);
  EXPECT_NEAR(meter_.seconds(1, true), 0.99, 0.02);
  EXPECT_LT(meter_.seconds(1, false), 0.1) << "of a session whose command has not begun nothing is known";
  look(1, false);
  EXPECT_NEAR(meter_.seconds(1, false), 1, 0.03);
}

TEST_F(LoadMeterTest, WhatHappensWhileNobodyWatchesIsNotMeasured) {
  look(0, true);
  look(1, true);
  const double before = meter_.seconds(1, false);
  meter_.rest();
  now_ += 1h;
  look(2, true);
  EXPECT_EQ(meter_.seconds(1, true), before);
}

}  // namespace
}  // namespace remotecl::server
