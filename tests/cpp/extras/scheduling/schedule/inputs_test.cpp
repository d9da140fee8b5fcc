#include "extras/scheduling/schedule/inputs.h"

#include <gtest/gtest.h>

#include "fixture.h"

namespace remotecl::schedule {
namespace {

constexpr std::uint64_t kMega = 1'000'000;

class InputsTest : public testing::Test {
 protected:
  InputsTest() {
    near_ = cluster_.network().add_server({1e9, 1e-3}, {1e10, 0});
    far_ = cluster_.network().add_server({1e8, 10e-3}, {1e10, 0});
    for (const ServerId server : {near_, near_, far_}) cluster_.add(Device{.server = server});
  }
  Seconds transfer(std::vector<Access> accesses, DeviceId device) {
    inputs_.find(accesses, residency_);
    return inputs_.transfer(device);
  }

  Cluster cluster_;
  FakeResidency residency_;
  Inputs inputs_{cluster_};
  ServerId near_ = 0, far_ = 0;
};

TEST_F(InputsTest, WhatIsThereCostsNothing) {
  residency_.put(1, kMega, {0});
  EXPECT_EQ(transfer({{1, 0, kMega}}, 0), 0);
  EXPECT_EQ(inputs_.missing(0).bytes, 0u);
  EXPECT_EQ(inputs_.missing(2).bytes, kMega);
  EXPECT_EQ(inputs_.first_holder(), 0u);
  EXPECT_EQ(transfer({{1, 0, kMega, false, true}}, 2), 0) << "it is only written";
  EXPECT_EQ(transfer({{7, 0, kMega}}, 2), 0) << "nobody has written it";
}

TEST_F(InputsTest, TheNearestHolderSends) {
  residency_.put(1, kMega, {0});
  EXPECT_DOUBLE_EQ(transfer({{1, 0, kMega}}, 1), 1e-4) << "inside the server";
  EXPECT_DOUBLE_EQ(transfer({{1, 0, kMega}}, 2), 11e-3 + 1e-2);
  residency_.put(1, kMega, {0}, true);
  EXPECT_DOUBLE_EQ(transfer({{1, 0, kMega}}, 2), 10e-3 + 1e-2) << "from this process";
  residency_.put(1, kMega, {2}, true);
  EXPECT_DOUBLE_EQ(transfer({{1, 0, kMega}}, 1), 1e-3 + 1e-3);
}

TEST_F(InputsTest, TransfersFollowEachOther) {
  residency_.put(1, kMega, {2});
  residency_.put(2, kMega, {0});
  const double each = 11e-3 + 1e-2;
  EXPECT_DOUBLE_EQ(transfer({{1, 0, kMega}, {2, 0, kMega}}, 0), each);
  residency_.put(2, kMega, {2});
  EXPECT_DOUBLE_EQ(transfer({{1, 0, kMega}, {2, 0, kMega}}, 0), 2 * each);
}

TEST_F(InputsTest, OfManyHoldersNoneLacksAnythingAndTheBoundIsNoMoreThanTheTransfer) {
  std::vector<DeviceId> holders;
  for (DeviceId device = 3; device < 9; ++device) {
    const ServerId server = cluster_.network().add_server({1e8, 10e-3}, {1e10, 0});
    holders.push_back(cluster_.add(Device{.server = server}));
  }
  residency_.put(1, kMega, holders);
  for (DeviceId device = 3; device < 9; ++device) EXPECT_EQ(transfer({{1, 0, kMega}}, device), 0) << device;
  EXPECT_DOUBLE_EQ(transfer({{1, 0, kMega}}, 0), 11e-3 + 1e-2);
  for (DeviceId device = 0; device < cluster_.size(); ++device) {
    const Seconds exact = transfer({{1, 0, kMega}}, device);
    EXPECT_LE(inputs_.least_transfer(device), exact) << device;
  }
}

}  // namespace
}  // namespace remotecl::schedule
