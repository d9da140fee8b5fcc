// A machine that vanishes without a word: a network namespace that packets no longer find. Needs root.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "extras/kernel_sockets/server/local_socket_broker.h"
#include "extras/kernel_sockets/space/host_sockets.h"
#include "extras/kernel_sockets/space/proxy_fixture.h"

namespace remotecl::testing {
namespace {

using namespace server;

class LocalBroker final : public SocketBroker {
 public:
  int connect(const SocketAddress& address) override { return broker_->connect(address); }
  int bind(const SocketAddress& address, int backlog, std::uint16_t& port) override {
    return broker_->bind(address, backlog, port);
  }
  int resolve(const SocketAddress& address, SocketPeer& peer) override { return broker_->resolve(address, peer); }

 private:
  static Limits limits() {
    Limits limits;
    limits.kernel_connect = SocketRules(SocketRules::For::kConnect, {"10.9.0.0/24:*"});
    limits.kernel_bind = SocketRules(SocketRules::For::kBind, {"10.9.0.1:*"});
    return limits;
  }

  const OwnPorts ports_;
  const Ref<LocalSocketBroker> broker_ =
      make_ref<LocalSocketBroker>(SocketPermissions(limits(), Limits{}), ports_, 1, "user");
};

bool does(const std::string& command) { return std::system(command.c_str()) == 0; }

// A namespace that lasts as long as the descriptor; invalid without root.
Descriptor make_namespace() {
  Descriptor made;
  std::thread([&] {
    if (::unshare(CLONE_NEWNET) == 0) made = Descriptor(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  }).join();
  return made;
}

void in(const Descriptor& where, const std::function<void()>& work) {
  std::thread([&] {
    ASSERT_EQ(::setns(where.get(), CLONE_NEWNET), 0);
    work();
  }).join();
}

sockaddr_in at(const char* ip, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, ip, &address.sin_addr);
  return address;
}

// Two machines: 10.9.0.1, and one that is 10.9.0.2 and 10.9.0.3.
class VanishedPeerTest : public ProxyTest<LocalBroker> {
 protected:
  bool has_link() {
    ::setenv("REMOTECL_HEARTBEAT", "1", 1);
    if (!here_.valid() || !there_.valid()) return false;
    bool works = false;
    const std::string there = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(there_.get());
    in(here_, [&] {
      works = does("ip link add name rcl0 type veth peer name rcl1 netns " + there) &&
              does("ip address add 10.9.0.1/24 dev rcl0 && ip link set rcl0 up");
    });
    in(there_, [&] {
      works = works && does("ip address add 10.9.0.2/24 dev rcl1 && ip address add 10.9.0.3/24 dev rcl1") &&
              does("ip link set rcl1 up");
    });
    return works;
  }
  void connect(std::uint32_t index, const std::string& address) {
    request(index, layout::kConnect, 0, address);
    ASSERT_TRUE(becomes(index, layout::kConnected));
  }
  // Sends until the peer, which reads nothing, has no room. Returns how much that was.
  std::size_t fill(std::uint32_t index) {
    std::size_t sent = 0;
    const auto piece = pattern(512, 1);
    auto moved = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - moved < std::chrono::milliseconds(300)) {
      if (static_cast<std::uint32_t>(sent) + 512 - line(index, layout::kSendHead) > shape_.ring_bytes) continue;
      send(index, piece);
      sent += piece.size();
      moved = std::chrono::steady_clock::now();
    }
    return sent;
  }
  void run() {
    Descriptor listener, client;
    in(there_, [&] {
      const sockaddr_in any = at("0.0.0.0", 7000);
      listener = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any), 0);
      ASSERT_EQ(::listen(listener.get(), 8), 0);
    });
    begin();
    connect(0, "tcp:10.9.0.2:7000");
    connect(1, "tcp:10.9.0.2:7000");
    const Descriptor idle = accept_from(listener), receives = accept_from(listener);
    request(2, layout::kBind, 4, "tcp:10.9.0.1:7001");
    ASSERT_TRUE(becomes(2, layout::kListening));
    in(there_, [&] {
      const sockaddr_in from = at("10.9.0.2", 0), to = at("10.9.0.1", 7001);
      client = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      ASSERT_EQ(::bind(client.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from), 0);
      ASSERT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    });
    request(3, layout::kAccept, layout::handle(2, 1));
    ASSERT_TRUE(becomes(3, layout::kConnected));
    connect(4, "tcp:10.9.0.3:7000");
    const Descriptor slow = accept_from(listener);
    const std::size_t sent = fill(4);

    ASSERT_TRUE(does("ip neighbour replace 10.9.0.2 lladdr 02:00:00:00:00:01 dev rcl0 nud permanent"));
    send(1, pattern(100, 1));
    const auto vanished = std::chrono::steady_clock::now();
    for (const std::uint32_t index : {0u, 1u, 3u}) {
      ASSERT_TRUE(becomes(index, layout::kFailed)) << index;
      EXPECT_EQ(line(index, layout::kError), static_cast<std::uint32_t>(ETIMEDOUT)) << index;
    }
    EXPECT_LT(std::chrono::steady_clock::now() - vanished, std::chrono::seconds(9));
    EXPECT_EQ(line(4, layout::kState) & layout::kFailed, 0u) << "its peer only does not read";
    request(4, layout::kShutdown);
    EXPECT_EQ(receive_until_end(slow).size(), sent);
  }

  const Descriptor here_ = make_namespace(), there_ = make_namespace();
};

TEST_F(VanishedPeerTest, IsAnErrorOfConnectionsThatAreIdleOrSend) {
  if (!has_link()) GTEST_SKIP() << "needs root, and ip of iproute2";
  in(here_, [this] { run(); });
}

}  // namespace
}  // namespace remotecl::testing
