// The channels of a bulk stream, one after the other, as the two sides of a handshake make them.
#include <poll.h>

#include "extras/rdma/rdma_acceptor.h"
#include "extras/rdma/rdma_connector.h"
#include "rdma_pair.h"

namespace remotecl::testing {
namespace {

using Clock = std::chrono::steady_clock;

class RdmaReconnectTest : public RdmaTest {
 protected:
  void SetUp() override {
    RdmaTest::SetUp();
    if (IsSkipped()) return;
    acceptor_ = std::make_unique<RdmaAcceptor>(kV4);
    connect();
    await_both(1);
  }

  void connect() {
    const RdmaOffer offer = acceptor_->offer(key_, far_);
    connector_ = std::make_unique<RdmaConnector>(addresses_of(offer), offer.ticket, key_, near_);
    connector_->start();
  }

  // A channel with this number.
  static void await(RdmaSlot& slot, std::uint32_t number) {
    const auto deadline = Clock::now() + kDialTime;
    for (;;) {
      slot.seen();
      const RdmaSlot::Entry entry = slot.get();
      if (entry.channel != nullptr && entry.number >= number) {
        EXPECT_EQ(entry.number, number);
        return;
      }
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      ASSERT_GT(left.count(), 0) << "no channel " << number;
      pollfd waiting{slot.handle(), POLLIN, 0};
      ::poll(&waiting, 1, static_cast<int>(left.count()));
    }
  }
  void await_both(std::uint32_t number) {
    await(*near_, number);
    if (!HasFatalFailure()) await(*far_, number);
  }
  static void lose(RdmaSlot& slot) { slot.drop(slot.get().channel); }

  const Secret key_{};
  std::shared_ptr<RdmaSlot> near_ = std::make_shared<RdmaSlot>();
  std::shared_ptr<RdmaSlot> far_ = std::make_shared<RdmaSlot>();
  std::unique_ptr<RdmaAcceptor> acceptor_;
  std::unique_ptr<RdmaConnector> connector_;
};

TEST_F(RdmaReconnectTest, AChannelThatTheConnectingSideHasLostIsReplaced) {
  lose(*near_);
  await_both(2);
}

// Nobody sends anything there, and the accepting side cannot connect.
TEST_F(RdmaReconnectTest, AChannelThatOnlyTheAcceptingSideHasLostIsReplaced) {
  lose(*far_);
  await_both(2);
}

TEST_F(RdmaReconnectTest, AChannelWhoseOtherEndFailsSilentlyIsReplaced) {
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_ERR;
  const std::shared_ptr<RdmaChannel> far = far_->get().channel;
  ASSERT_EQ(far->id().library().verbs.modify_qp(far->id().get()->qp, &state, IBV_QP_STATE), 0);
  await_both(2);
}

TEST_F(RdmaReconnectTest, WhoIsRefusedAtFirstTriesAgain) {
  connector_.reset();
  near_ = std::make_shared<RdmaSlot>();
  far_ = std::make_shared<RdmaSlot>();
  RdmaPair pair;
  far_->put(std::move(pair.far), 2);  // so that the accepting side wants higher numbers
  lose(*far_);
  connect();
  await_both(3);
}

// Each costs whoever uses it the time until the loss is noticed.
TEST_F(RdmaReconnectTest, ChannelsThatMoveNothingAreMadeLessAndLessOften) {
  const auto begin = Clock::now();
  for (std::uint32_t number = 2; number <= 6; ++number) {
    lose(*near_);
    EXPECT_TRUE(near_->was_in_vain());
    ASSERT_NO_FATAL_FAILURE(await_both(number));
  }
  EXPECT_GE(Clock::now() - begin, 3100ms);
}

}  // namespace
}  // namespace remotecl::testing
