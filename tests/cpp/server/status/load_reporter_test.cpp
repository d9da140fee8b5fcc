#include "server/status/load_reporter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "runtime/base/mutex.h"

namespace remotecl::testing {
namespace {

using server::LoadReporter;
using server::SessionLoad;

// A device whose load the test sets. Any thread.
class SetLoad final : public server::LoadSource {
 public:
  void set(double seconds) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    load_ = seconds;
  }
  int looks() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return looks_;
  }
  // Blocks until the reporter has looked so often and has found that it may sleep.
  void await_pause(int looks) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (looks_ < looks || !is_paused_) changed_.wait(mutex_);
  }

 private:
  std::vector<SessionLoad> look() override EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    ++looks_;
    is_paused_ = false;
    changed_.notify_all();
    return {{1, {{load_, 1}}}};
  }
  void pause() override EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    is_paused_ = true;
    changed_.notify_all();
  }
  void rest() override {}

  Mutex mutex_;
  ConditionVariable changed_;
  double load_ GUARDED_BY(mutex_) = 0;
  int looks_ GUARDED_BY(mutex_) = 0;
  bool is_paused_ GUARDED_BY(mutex_) = false;
};

// What was reported to a watcher. Any thread.
class Reported {
 public:
  void add(std::span<const LoadOfDevice> loads) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    for (const LoadOfDevice& load : loads) loads_.push_back(load.queued_us);
    changed_.notify_all();
  }
  std::vector<std::uint64_t> await(std::size_t count) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (loads_.size() < count) changed_.wait(mutex_);
    return loads_;
  }
  // Whether anything comes within five seconds.
  bool comes() EXCLUDES(mutex_) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    const MutexLock lock(mutex_);
    while (loads_.empty()) {
      if (changed_.wait_until(mutex_, end) == std::cv_status::timeout) return false;
    }
    return true;
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<std::uint64_t> loads_ GUARDED_BY(mutex_);
};

class LoadReporterTest : public ::testing::Test {
 protected:
  void watch() {
    reporter_.watch(2, {0}, [this](std::span<const LoadOfDevice> loads) {
      reported_.add(loads);
      return true;
    });
  }

  SetLoad load_;
  Reported reported_;
  LoadReporter reporter_{load_};
};

TEST_F(LoadReporterTest, SleepsWhileThereIsNoLoad) {
  watch();
  load_.await_pause(1);
  const int looks = load_.looks();
  std::this_thread::sleep_for(10 * LoadReporter::kPeriod);
  EXPECT_EQ(load_.looks(), looks);
}

TEST_F(LoadReporterTest, TheFirstChangeAfterAQuietTimeIsReported) {
  watch();
  for (std::size_t round = 0; round < 20; ++round) {
    const int looks = load_.looks();
    load_.await_pause(looks);
    load_.set(2);
    reporter_.changed();
    EXPECT_EQ(reported_.await(2 * round + 2).back(), 2'000'000u);
    load_.set(0);  // the reporter looks by itself now
    EXPECT_EQ(reported_.await(2 * round + 3).back(), 0u);
  }
}

TEST_F(LoadReporterTest, WhatAWatcherHadNoRoomForComesLater) {
  int refusals = 3;
  reporter_.watch(2, {0}, [&](std::span<const LoadOfDevice> loads) {
    if (refusals-- > 0) return false;
    reported_.add(loads);
    return true;
  });
  EXPECT_EQ(reported_.await(1).back(), 0u);
}

// Whoever begins to watch gets the loads first, whatever the reporter does just then.
TEST(LoadReporterStartTest, WhoeverComesWhileAnotherIsToldIsToldToo) {
  for (int round = 0; round < 6000; ++round) {
    SetLoad load;
    Reported first, second;
    LoadReporter reporter(load);
    const auto reporting = [](Reported& reported) {
      return [&reported](std::span<const LoadOfDevice> loads) {
        reported.add(loads);
        return true;
      };
    };
    reporter.watch(1, {0}, reporting(first));
    const auto later = std::chrono::steady_clock::now() + std::chrono::microseconds(round % 200);
    while (std::chrono::steady_clock::now() < later) {
    }
    reporter.watch(2, {0}, reporting(second));
    ASSERT_TRUE(second.comes()) << "round " << round;
  }
}

}  // namespace
}  // namespace remotecl::testing
