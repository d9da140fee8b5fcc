#include "server/isolation/tls_relay.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <system_error>

#include "runtime/transport/tcp/stream_connection.h"
#include "server/failing_threads.h"

namespace remotecl::testing {
namespace {

using server::TlsRelay;

class TlsRelayTest : public ::testing::Test {
 protected:
  TlsRelayTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    near_ = std::make_unique<StreamConnection>(ends[0]);
    far_ = std::make_unique<StreamConnection>(ends[1]);
  }
  std::unique_ptr<Connection> near_, far_;
};

// The thread that runs it has nobody who would catch an error.
TEST_F(TlsRelayTest, WithoutASecondThreadItClosesTheConnection) {
  TlsRelay relay(near_);
  failing_thread = threads_started.load();
  EXPECT_NO_THROW(relay.run());
  EXPECT_EQ(failing_thread, -1) << "no thread has failed";
  std::byte byte{};
  EXPECT_EQ(far_->read_some({&byte, 1}), 0u);
}

TEST_F(TlsRelayTest, WithoutSocketsTheConnectionStaysItsOwners) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_THROW(TlsRelay{near_}, std::system_error);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_NE(near_, nullptr);
  const std::byte sent{7};
  EXPECT_TRUE(near_->write({&sent, 1}));
}

}  // namespace
}  // namespace remotecl::testing
