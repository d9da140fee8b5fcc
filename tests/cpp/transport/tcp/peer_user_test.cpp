#include "runtime/transport/tcp/peer_user.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <system_error>

#include "runtime/transport/tcp/operator_socket.h"
#include "runtime/transport/tcp/tcp.h"
#include "support/other_user.h"

namespace remotecl {
namespace {

using namespace std::chrono_literals;

class OperatorSocketTest : public ::testing::Test {
 protected:
  // The name of no other test, because nobody else has this port.
  const tcp::Listener port_{{"127.0.0.1", 0}};
  const std::unique_ptr<tcp::Listener> listener_ = tcp::Listener::for_operators(port_.address().port);
};

TEST_F(OperatorSocketTest, SaysWhoIsThere) {
  const auto near = operator_socket::connect(port_.address());
  const auto far = listener_->accept();
  ASSERT_NE(near, nullptr);
  EXPECT_EQ(tcp::peer_user(*far), ::geteuid());
  EXPECT_EQ(tcp::peer_user(*near), ::geteuid());
  std::unique_ptr<Connection> others;
  if (!testing::as_other_user([&] { others = operator_socket::connect(port_.address()); })) return;
  const auto theirs = listener_->accept();
  EXPECT_EQ(tcp::peer_user(*theirs), testing::kOtherUser);
  others.reset();
  std::byte end[1];
  EXPECT_EQ(theirs->read_some(end), 0u);
  EXPECT_EQ(tcp::peer_user(*theirs), testing::kOtherUser) << "of a closed one, too";
}

TEST_F(OperatorSocketTest, IsForLoopback) {
  EXPECT_NE(operator_socket::connect({"localhost", port_.address().port}), nullptr);
  EXPECT_EQ(operator_socket::connect({"10.255.255.1", port_.address().port}), nullptr);
  EXPECT_EQ(operator_socket::connect({"127.0.0.2", port_.address().port}), nullptr) << "another daemon may be there";
}

TEST_F(OperatorSocketTest, HasANameThatIsTakenOnce) {
  EXPECT_THROW(tcp::Listener::for_operators(port_.address().port), std::system_error);
}

TEST(OperatorSocketOfOthersTest, IsNotTrusted) {
  const tcp::Listener port({"127.0.0.1", 0});
  std::unique_ptr<tcp::Listener> foreign;
  if (!testing::as_other_user([&] { foreign = tcp::Listener::for_operators(port.address().port); })) {
    GTEST_SKIP() << "only root can be another user of this machine";
  }
  EXPECT_NE(operator_socket::connect(port.address()), nullptr) << "root may look at everybody's daemon";
  testing::as_other_user([&] { EXPECT_NE(operator_socket::connect(port.address()), nullptr) << "one's own"; });
  testing::as_other_user<65533>([&] { EXPECT_EQ(operator_socket::connect(port.address()), nullptr); });
}

TEST(PeerUserTest, NobodyIsKnownByATcpSocket) {
  tcp::Listener listener({"127.0.0.1", 0});
  const auto near = tcp::connect(listener.address(), 5s);
  const auto far = listener.accept();
  EXPECT_EQ(tcp::peer_user(*far), std::nullopt);
  EXPECT_EQ(tcp::peer_user(*near), std::nullopt);
}

}  // namespace
}  // namespace remotecl
