// What a slot says of its channels.
#include "extras/rdma/rdma_slot.h"

#include <vector>

#include "rdma_pair.h"

namespace remotecl::testing {
namespace {

using Kind = RdmaState::Kind;

// These need no device.
TEST(RdmaSlotStates, WithoutAChannelItIsConnectingUntilThatHasFailed) {
  RdmaSlot slot;
  EXPECT_EQ(slot.state().kind, Kind::kConnecting);
  slot.fail("RDMA is not available, TCP is used: there is no device");
  EXPECT_EQ(slot.state().kind, Kind::kUnavailable);
  EXPECT_EQ(slot.state().reason, "there is no device");
  EXPECT_EQ(slot.state().losses, 0u);
}

TEST(RdmaSlotStates, AnEndIsNoFailure) {
  RdmaSlot slot;
  slot.end();
  slot.fail("too late");
  EXPECT_EQ(slot.state().kind, Kind::kConnecting);
}

// Grants so many bytes, until they are given back.
struct Bounded {
  RdmaSlot::Hold hold() {
    return [this](std::uint64_t bytes) -> std::shared_ptr<const void> {
      if (bytes > left) return nullptr;
      left -= bytes;
      return std::shared_ptr<const void>(this, [this, bytes](const void*) { left += bytes; });
    };
  }
  std::uint64_t left = 100;
};

TEST(RdmaSlotStates, MemoryThatMayNotBeLockedEndsRdmaForGood) {
  std::vector<RdmaState> reports;
  Bounded bounded;
  RdmaSlot slot([&](const RdmaState& state) { reports.push_back(state); }, bounded.hold());
  auto first = slot.hold(60);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(slot.hold(60), nullptr);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].kind, Kind::kUnavailable);
  EXPECT_EQ(reports[0].reason, rdma_reason::kHostMemory);
  first.reset();
  EXPECT_EQ(bounded.left, 100u);
  EXPECT_EQ(slot.hold(1), nullptr) << "the peer would make one channel after the other";
  slot.fail("something else");
  EXPECT_EQ(slot.state().reason, rdma_reason::kHostMemory);
  EXPECT_EQ(reports.size(), 1u);
}

TEST(RdmaSlotStates, WithoutABoundAllMemoryMayBeLocked) { EXPECT_NE(RdmaSlot().hold(1ull << 40), nullptr); }

class RdmaSlotTest : public RdmaTest {
 protected:
  std::vector<RdmaState> reports_;
  RdmaSlot slot_{[this](const RdmaState& state) { reports_.push_back(state); }};
};

TEST_F(RdmaSlotTest, AChannelIsReportedWithItsPortAndAddresses) {
  RdmaPair pair;
  slot_.put(std::move(pair.near), 1);
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].kind, Kind::kInUse);
  EXPECT_EQ(reports_[0].port, "rxe0:1");
  EXPECT_EQ(reports_[0].address, kV4);
  EXPECT_EQ(reports_[0].peer_address, kV4);
  EXPECT_EQ(slot_.state().channels, 1u);
}

TEST_F(RdmaSlotTest, ALossIsReportedOnceWithItsReason) {
  RdmaPair pair;
  slot_.put(std::move(pair.near), 1);
  const auto channel = slot_.get().channel;
  channel->shutdown();
  slot_.drop(channel);
  slot_.drop(channel);
  ASSERT_EQ(reports_.size(), 2u);
  EXPECT_EQ(reports_[1].kind, Kind::kLost);
  EXPECT_EQ(reports_[1].reason, channel->reason());
  EXPECT_EQ(reports_[1].losses, 1u);
  EXPECT_EQ(reports_[1].channels, 0u);
  slot_.fail("it is still away");
  EXPECT_EQ(slot_.state().reason, channel->reason());
}

TEST_F(RdmaSlotTest, AChannelThatIsReplacedWasLost) {
  RdmaPair first, second;
  slot_.put(std::move(first.near), 1);
  slot_.put(std::move(second.near), 2);
  ASSERT_EQ(reports_.size(), 3u);
  EXPECT_EQ(reports_[1].kind, Kind::kLost);
  EXPECT_EQ(reports_[1].reason, rdma_reason::kReplaced);
  EXPECT_EQ(reports_[2].kind, Kind::kInUse);
  EXPECT_EQ(reports_[2].losses, 1u);
}

TEST_F(RdmaSlotTest, AChannelEndsWithTheMemoryThatItMayLock) {
  Bounded bounded;
  RdmaSlot slot({}, bounded.hold());
  RdmaPair pair, successor;
  EXPECT_TRUE(slot.put(std::move(pair.near), 1));
  EXPECT_EQ(slot.hold(101), nullptr);
  EXPECT_EQ(slot.state().channels, 0u);
  EXPECT_EQ(slot.state().losses, 0u);
  EXPECT_FALSE(slot.put(std::move(successor.near), 2));
}

TEST_F(RdmaSlotTest, TheEndOfAStreamIsNoLoss) {
  RdmaPair pair;
  slot_.put(std::move(pair.near), 1);
  slot_.end();
  EXPECT_EQ(reports_.size(), 1u);
  EXPECT_EQ(slot_.state().losses, 0u);
  EXPECT_EQ(slot_.state().channels, 0u);
}

}  // namespace
}  // namespace remotecl::testing
