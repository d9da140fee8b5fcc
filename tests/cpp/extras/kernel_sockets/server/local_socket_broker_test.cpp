// Sockets that the daemon opens for kernels.
#include "extras/kernel_sockets/server/local_socket_broker.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <vector>

#include "extras/kernel_sockets/space/host_sockets.h"
#include "runtime/transport/tcp/tcp.h"

namespace remotecl::testing {
namespace {

using namespace server;

Limits open_limits(const std::string& rule) {
  Limits limits;
  limits.kernel_connect = SocketRules(SocketRules::For::kConnect, {rule});
  limits.kernel_bind = SocketRules(SocketRules::For::kBind, {rule});
  return limits;
}

// A listener of this machine whose backlog is full.
class FullBacklogTest : public ::testing::Test {
 protected:
  FullBacklogTest() : listener_(listen_on_path(path_)) {
    ::listen(listener_.get(), 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    while (true) {
      Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) break;
      waiting_.push_back(std::move(socket));
    }
    EXPECT_EQ(errno, EAGAIN);
  }
  ~FullBacklogTest() override { ::unlink(path_.c_str()); }

  const std::string path_ = ::testing::TempDir() + "rcl-backlog-" + std::to_string(::getpid()) + ".sock";
  const Descriptor listener_;
  std::vector<Descriptor> waiting_;
  OwnPorts ports_;
  const Ref<LocalSocketBroker> broker_ =
      make_ref<LocalSocketBroker>(SocketPermissions(open_limits("unix:" + path_), Limits{}), ports_, 1, "user");
  const SocketAddress address_{SocketAddress::Kind::kUnix, path_, 0};
};

TEST_F(FullBacklogTest, AKernelWaitsForRoom) {
  std::future<int> socket = std::async(std::launch::async, [this] { return broker_->connect(address_); });
  EXPECT_EQ(socket.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  for (std::size_t i = 0; i < waiting_.size(); ++i) accept_from(listener_);
  const Descriptor connected(socket.get());
  ASSERT_TRUE(connected.valid());
  EXPECT_NE(::fcntl(connected.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(connected.get(), F_GETFD) & FD_CLOEXEC, 0);
  send_all(connected, "x", 1);
  char byte = 0;
  EXPECT_EQ(receive_all(accept_from(listener_), &byte, 1), 1u);
}

TEST_F(FullBacklogTest, WhoeverFindsNoRoomIsTold) { EXPECT_EQ(broker_->connect(address_), -ETIMEDOUT); }

TEST(LocalSocketBrokerTest, OnlyItsUserConnectsToAPathWhateverTheUmaskIs) {
  const std::string path = ::testing::TempDir() + "rcl-mode-" + std::to_string(::getpid()) + ".sock";
  const OwnPorts ports;
  const auto broker =
      make_ref<LocalSocketBroker>(SocketPermissions(open_limits("unix:" + path), Limits{}), ports, 1, "user");
  const mode_t before = ::umask(0);
  std::uint16_t port = 0;
  const Descriptor socket(broker->bind({SocketAddress::Kind::kUnix, path, 0}, 1, port));
  ::umask(before);
  ASSERT_TRUE(socket.valid());
  struct stat made {};
  EXPECT_EQ(::stat(path.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0077, 0u);
  ::unlink(path.c_str());
}

TEST(OwnPortTest, IsNotConnectedToWhateverIsAllowed) {
  const tcp::Listener daemon({"127.0.0.1", 0}), other({"127.0.0.1", 0});
  OwnPorts ports;
  ports.add(daemon.address().port);
  const auto broker =
      make_ref<LocalSocketBroker>(SocketPermissions(open_limits("127.0.0.1:*"), Limits{}), ports, 1, "user");
  const auto connect = [&](const tcp::Listener& to) {
    return broker->connect({SocketAddress::Kind::kTcp, "127.0.0.1", to.address().port});
  };
  EXPECT_EQ(connect(daemon), -EACCES);
  const Descriptor socket(connect(other));
  EXPECT_TRUE(socket.valid());
}

}  // namespace
}  // namespace remotecl::testing
