#include "runtime/transport/tcp/peer_user.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "runtime/transport/tcp/loopback.h"
#include "runtime/transport/tcp/tcp.h"
#include "support/other_user.h"

namespace remotecl {
namespace {

using namespace std::chrono_literals;

class PeerUserTest : public ::testing::TestWithParam<const char*> {
 protected:
  PeerUserTest() : listener_({GetParam(), 0}) {}
  std::unique_ptr<Connection> connect() { return tcp::connect({"127.0.0.1", listener_.address().port}, 5s); }

  tcp::Listener listener_;
};

TEST_P(PeerUserTest, IsWhoeverHasMadeTheSocket) {
  const auto near = connect(), far = std::unique_ptr<Connection>(listener_.accept());
  EXPECT_EQ(tcp::peer_user(*far), ::geteuid());
  std::unique_ptr<Connection> others;
  if (!testing::as_other_user([&] { others = connect(); })) return;
  const auto theirs = listener_.accept();
  EXPECT_EQ(tcp::peer_user(*theirs), testing::kOtherUser);
}

// The kernel calls the owner of what is left of a closed connection root.
TEST_P(PeerUserTest, NobodyIsLeftWhenTheSocketIsClosed) {
  auto near = connect();
  const auto far = listener_.accept();
  near.reset();
  std::byte end[1];
  EXPECT_EQ(far->read_some(end), 0u);
  EXPECT_EQ(tcp::peer_user(*far), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Listeners, PeerUserTest, ::testing::Values("127.0.0.1", "::"),
                         [](const auto& each) { return each.param[0] == ':' ? "Both" : "IPv4"; });

TEST(PeerUserOfOtherSocketsTest, ThereIsNone) {
  const auto [one, other] = loopback::make_pair();
  EXPECT_EQ(tcp::peer_user(*one), std::nullopt);
}

}  // namespace
}  // namespace remotecl
