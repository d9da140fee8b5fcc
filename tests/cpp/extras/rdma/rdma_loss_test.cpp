#include <gmock/gmock.h>

#include <csignal>
#include <string>

#include "rdma_pair.h"
#include "support/child_process.h"

namespace remotecl::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RdmaLossTest : public RdmaTest {
 protected:
  static std::vector<std::string> peer(const RdmaListener& listener, const char* task) {
    return {REMOTECL_RDMA_PEER, std::to_string(listener.address().port), task};
  }
};

TEST_F(RdmaLossTest, APeerThatIsKilledInTheMiddleOfATransferEndsTheChannel) {
  for (int round = 0; round < 3; ++round) {
    RdmaListener listener({kV4, 0});
    ChildProcess child(peer(listener, "send"), {});
    const auto channel = listener.next()->accept({});
    Registered to(*channel, std::vector<std::byte>(64u << 20));
    channel->announce(1, to.destination());
    std::size_t got = 0;
    channel->expect(1, to.bytes.size());
    while (channel->receive(to.part(got, 1u << 20))) {
      got += 1u << 20;
      if (got == 2u << 20) child.signal(SIGKILL);
    }
    EXPECT_GE(got, 2u << 20);
    EXPECT_LT(got, 64u << 20);
    EXPECT_THAT(channel->reason(), Not(HasSubstr("here")));
    EXPECT_FALSE(channel->send(2, to.source(), RdmaChannel::Use::kCopied));
  }
}

// Soft-RoCE does not give back buffers that are posted after the end.
TEST_F(RdmaLossTest, AnEndBeforeMessagesWereLookedAtIsNotWaitedFor) {
  RdmaPair pair;
  Registered from(*pair.near, std::vector<std::byte>(4096)), to(*pair.far, std::vector<std::byte>(4096));
  pair.near->announce(7, from.destination());  // a message that nobody at the other side looks at
  std::this_thread::sleep_for(500ms);
  const auto begun = std::chrono::steady_clock::now();
  pair.far->shutdown();
  pair.far->expect(1, to.bytes.size());
  EXPECT_EQ(pair.far->try_receive(to.destination()), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
}

TEST_F(RdmaLossTest, AQueuePairInErrorEndsBothSides) {
  RdmaPair pair;
  Registered from(*pair.near, pattern(1u << 20, 1));
  Registered to(*pair.far, std::vector<std::byte>(1u << 20));
  pair.far->announce(1, to.destination());
  std::thread sender([&] {
    while (pair.near->send(1, from.source(), RdmaChannel::Use::kBorrowed)) continue;
    pair.near->reclaim(pair.near->bytes_sent());
    EXPECT_EQ(pair.near->completed(), pair.near->bytes_sent());
    pair.near->shutdown();
  });
  // Its destination has gone: the device refuses the rest, and puts the queue pair into error.
  pair.far->withdraw(1);
  pair.far->expect(1, to.bytes.size());
  while (pair.far->receive(to.destination())) pair.far->expect(1, to.bytes.size());
  EXPECT_NE(pair.far->reason(), "");
  sender.join();
  EXPECT_NE(pair.near->reason(), "");
}

// As after a failure of the network, which tells nobody: whoever only waits sends something now and then.
TEST_F(RdmaLossTest, APeerThatNoLongerAnswersIsNoticed) {
  RdmaPair pair;
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_ERR;
  const CmId& far = pair.far->id();
  ASSERT_EQ(far.library().verbs.modify_qp(far.get()->qp, &state, IBV_QP_STATE), 0);
  std::byte none{};
  pair.near->expect(1, 1);
  EXPECT_FALSE(pair.near->receive({{&none, 1}}));
  EXPECT_NE(pair.near->reason(), "");
}

TEST_F(RdmaLossTest, ATooSmallLimitOfLockedMemoryNamesItsRemedy) {
  RdmaListener listener({kV4, 0});
  ChildProcess child(peer(listener, "lock"), {});
  const auto channel = listener.next()->accept({});
  EXPECT_THAT(child.said("refused: "),
              ::testing::AllOf(HasSubstr("16 MiB"), HasSubstr("may lock 1 MiB (ulimit -l)"),
                               HasSubstr("ulimit -l unlimited"), HasSubstr("LimitMEMLOCK=infinity")));
}

}  // namespace
}  // namespace remotecl::testing
