// What is known of RDMA on several streams, in one value.
#include "runtime/transport/bulk/rdma_state.h"

#include <gtest/gtest.h>

#include "runtime/protocol/messages/rdma_status.h"

namespace remotecl {
namespace {

using Kind = RdmaState::Kind;

const RdmaState kUsed{Kind::kInUse, "", "mlx5_0:1", "10.0.0.1", "10.0.0.2", 1, 0, 100, 200, 30, 4};
const RdmaState kGone{Kind::kLost, "the port is down", "mlx5_0:2", "10.0.1.1", "10.0.1.2", 0, 2, 10, 20, 3, 1};

TEST(RdmaStateTest, TheSumHasAllNumbersAndWhatIsMostWorthKnowing) {
  RdmaState sum = kUsed;
  sum += kGone;
  sum += RdmaState::unavailable("no memory");
  EXPECT_EQ(sum.kind, Kind::kLost);
  EXPECT_EQ(sum.reason, "the port is down");
  EXPECT_EQ(sum.port, "mlx5_0:2");
  EXPECT_EQ(sum.channels, 1u);
  EXPECT_EQ(sum.losses, 2u);
  EXPECT_EQ(sum.bytes_sent, 110u);
  EXPECT_EQ(sum.bytes_received, 220u);
  EXPECT_EQ(sum.bytes_copied, 33u);
  EXPECT_EQ(sum.system_calls, 5u);
}

TEST(RdmaStateTest, AnEmptyOneAddsNothing) {
  RdmaState sum;
  sum += RdmaState::off("the other side");
  sum += RdmaState();
  EXPECT_EQ(sum.kind, Kind::kOff);
  EXPECT_EQ(sum.reason, "the other side");
}

TEST(RdmaStateTest, WhatHasEndedIsNotThereButStaysCounted) {
  RdmaState sum = kUsed.past();
  sum += kGone.past();
  EXPECT_EQ(sum.kind, Kind::kOff);
  EXPECT_EQ(sum.reason, "");
  EXPECT_EQ(sum.channels, 0u);
  EXPECT_EQ(sum.losses, 2u);
  EXPECT_EQ(sum.bytes_received, 220u);
  EXPECT_EQ(sum.bytes_copied, 33u);
  EXPECT_EQ(sum.system_calls, 5u);
}

TEST(RdmaStateTest, AReasonIsNotIntroducedTwice) {
  EXPECT_EQ(RdmaState::unavailable("RDMA is not available, TCP is used: there is no device").reason,
            "there is no device");
}

TEST(RdmaStateTest, TravelsInMessagesAndDistrustsThem) {
  const RdmaState same = state_of(status_of(kGone));
  EXPECT_EQ(same.kind, Kind::kLost);
  EXPECT_EQ(same.reason, kGone.reason);
  EXPECT_EQ(same.peer_address, kGone.peer_address);
  EXPECT_EQ(same.losses, 2u);
  EXPECT_EQ(same.bytes_received, 20u);
  RdmaStatus strange = status_of(kUsed);
  strange.state = 5;
  EXPECT_EQ(state_of(strange).kind, Kind::kOff);
}

TEST(RdmaStateTest, EachStateHasItsName) {
  EXPECT_EQ(name_of(Kind::kOff), "off");
  EXPECT_EQ(name_of(Kind::kUnavailable), "unavailable");
  EXPECT_EQ(name_of(Kind::kConnecting), "connecting");
  EXPECT_EQ(name_of(Kind::kInUse), "in use");
  EXPECT_EQ(name_of(Kind::kLost), "lost");
}

}  // namespace
}  // namespace remotecl
