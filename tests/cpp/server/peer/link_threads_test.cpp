// A link whose threads cannot be started.
#include "server/failing_threads.h"
#include "server/peer/peer_fixture.h"

namespace remotecl::testing {
namespace {

class LinkThreadsTest : public HostilePeerTest, public ::testing::WithParamInterface<int> {};

// Otherwise commands would wait for ever for what comes over the link.
TEST_P(LinkThreadsTest, TheClientLearnsThatTheLinkIsLost) {
  const LinkId id = ++links_;
  a_.send(AcceptPeer{kSecond, id, secret_of(9)});
  a_.ping();
  control_ = knock(Role::kPeerControl, secret_of(9));
  ASSERT_TRUE(control_);
  const int before = threads_started;
  const auto connection = connect_to_first();
  Hello hello = hello_of(Role::kPeerBulk);
  hello.session = a_.welcome().session;
  hello.secret = connecting_proof(secret_of(9), hello);
  ASSERT_TRUE(eventually([&] { return threads_started > before; })) << "nothing reads the next bytes";
  failing_thread = threads_started + GetParam();
  ASSERT_TRUE(shake_hands(*connection, hello));
  EXPECT_EQ(state(a_, id), 1u);
  EXPECT_NE(end_of_link(a_), "");
  EXPECT_EQ(failing_thread, -1) << "no thread has failed";
  a_.ping();
}

INSTANTIATE_TEST_SUITE_P(Threads, LinkThreadsTest, ::testing::Values(0, 1),
                         [](const auto& each) { return each.param == 0 ? "Reader" : "BulkReader"; });

}  // namespace
}  // namespace remotecl::testing
