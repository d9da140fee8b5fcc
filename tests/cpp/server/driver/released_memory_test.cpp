#include "server/driver/released_memory.h"

#include <gtest/gtest.h>

namespace remotecl::testing {
namespace {

using server::DeviceLoad;
using server::QueueProgress;
using server::ReleasedMemory;

// A device with one queue, whose only command does not end by itself. Drivers refuse to release no object.
class ReleasedMemoryTest : public ::testing::Test {
 protected:
  ReleasedMemoryTest() {
    queue_->issue();
    load_.add(queue_);
  }
  void add(std::uint64_t bytes) {
    memory_.add(nullptr, bytes, [this] { ++released_; });
  }

  const Ref<QueueProgress> queue_ = make_ref<QueueProgress>();
  DeviceLoad load_;
  ReleasedMemory memory_{load_, 1000};
  int released_ = 0;
};

TEST_F(ReleasedMemoryTest, IsKeptWhileTheDeviceIsBusy) {
  add(400);
  memory_.release_if_idle();
  EXPECT_EQ(released_, 0);
  queue_->ended(1);
  memory_.release_if_idle();
  EXPECT_EQ(released_, 1);
}

TEST_F(ReleasedMemoryTest, TooMuchIsReleasedAllTheSame) {
  add(600);
  add(400);
  EXPECT_EQ(released_, 0);
  add(1);
  EXPECT_EQ(released_, 3);
}

TEST_F(ReleasedMemoryTest, TheNextOneOfAnIdleDeviceReleasesAll) {
  add(1);
  queue_->ended(1);
  add(1);
  EXPECT_EQ(released_, 2);
}

TEST_F(ReleasedMemoryTest, ASubBufferIsNotKept) {
  add(0);
  EXPECT_EQ(released_, 1);
}

}  // namespace
}  // namespace remotecl::testing
