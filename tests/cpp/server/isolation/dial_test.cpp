// What a session's process gets when it asks for a connection of a link.
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <thread>

#include "server/fixture.h"
#include "server/isolation/fake_process.h"
#include "server/peer/local_link_dialer.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using namespace server;

class DialTest : public ServerTest {
 protected:
  void SetUp() override {
    const Address client{"127.0.0.1", 1};
    session_.emplace(
        std::move(process_.child), std::make_unique<SessionShare>(make_ref<UserShares>(0), SessionShare::Bounds{}),
        client, *make_ref<User>("bob", Limits{}, 0), SessionLoad{}, [](bool) {}, [] {},
        make_ref<LocalLinkDialer>(LocalLinkDialer::Daemon{rules_, ports_, 1}, LinkAsker{1, "bob", client}), nullptr,
        nullptr);
    ASSERT_TRUE(begin(*session_, client));
    ASSERT_TRUE(process_.channel.receive());  // the session
    daemon_ = std::thread([this] { session_->run(); });
  }
  void TearDown() override {
    if (!session_) return;
    session_->kill();
    daemon_.join();
    session_.reset();
  }

  struct Given {
    bool has_descriptor = false;
    int domain = 0;
    std::string failure;
    Descriptor descriptor{-1};
  };
  Given ask(const Address& to, Role role = Role::kPeerControl, const Invitation& invitation = {1, 2, {}},
            Bytes pin = {}) {
    const PeerAddress address{to.host, to.port};
    EXPECT_TRUE(process_.channel.send(
        PacketType::kDial, DialMessage{++number_, role, invitation.session, invitation.epoch, invitation.secret, 0, 0,
                                       0, std::span<const PeerAddress>(&address, 1), pin, 2000, 2000}));
    auto packet =
        process_.channel.await(std::chrono::steady_clock::now() + 10s) ? process_.channel.receive() : std::nullopt;
    DialedMessage answer{};
    if (!packet || packet->type != PacketType::kDialed || !packet->read(answer)) {
      ADD_FAILURE() << "no answer";
      return {};
    }
    EXPECT_EQ(answer.number, number_);
    Given given{!packet->descriptors.empty(), 0, std::string(answer.failure), Descriptor()};
    if (!given.has_descriptor) return given;
    given.descriptor = std::move(packet->descriptors.front());
    socklen_t size = sizeof given.domain;
    ::getsockopt(given.descriptor.get(), SOL_SOCKET, SO_DOMAIN, &given.domain, &size);
    return given;
  }

  PeerRules rules_;
  OwnPorts ports_;
  std::uint64_t number_ = 0;
  FakeProcess process_;
  std::optional<IsolatedSession> session_;
  std::thread daemon_;
};

TEST_F(DialTest, WhoIsNoServerIsNotHandedOver) {
  tcp::Listener listener({"127.0.0.1", 0});
  std::size_t heard = 0;
  std::thread program([&] {
    const auto connection = listener.accept();
    connection->write(as_bytes("220 mail.example ESMTP, and so on, for longer than a Welcome would have been, or two"));
    std::byte bytes[4096];
    while (const std::size_t count = connection->read_some(bytes)) heard += count;
  });
  const Given given = ask(listener.address());
  program.join();
  EXPECT_FALSE(given.has_descriptor);
  EXPECT_NE(given.failure.find("no server that is to be linked"), std::string::npos) << given.failure;
  EXPECT_LE(heard, kHelloSize);
}

TEST_F(DialTest, AServerThatDoesNotExpectThePeerIsNotHandedOver) {
  WireClient client(address());
  const Invitation wrong{client.welcome().session, client.welcome().epoch, {}};
  EXPECT_FALSE(ask(address(), Role::kPeerControl, wrong).has_descriptor);
  const Invitation own{client.welcome().session, client.welcome().epoch, client.welcome().secret};
  for (const Role role : {Role::kControl, Role::kMonitor, Role::kBulk}) {
    EXPECT_FALSE(ask(address(), role, own).has_descriptor) << "only links, even for who knows the session's secret";
  }
}

TEST_F(DialTest, TheDaemonItselfIsNotAsked) {
  ports_.add(address().port);
  const Given given = ask(address());
  EXPECT_FALSE(given.has_descriptor);
  EXPECT_NE(given.failure.find("is this server itself"), std::string::npos) << given.failure;
}

TEST_F(DialTest, AnAcceptedLinkIsHandedOver) {
  WireClient client(address());
  client.send(AcceptPeer{1, 1, {}});
  client.ping();
  const Given given = ask(address(), Role::kPeerControl, {client.welcome().session, client.welcome().epoch, {}});
  EXPECT_TRUE(given.has_descriptor) << given.failure;
  EXPECT_EQ(given.domain, AF_INET);
}

TEST_F(DialTest, WhatDoesNotMakeSenseIsRefused) {
  EXPECT_FALSE(ask({std::string(300, 'x'), 1}).has_descriptor);
  EXPECT_FALSE(ask({"127.0.0.1", 1}, Role::kPeerControl, {1, 2, {}}, as_bytes("short pin")).has_descriptor);
}

}  // namespace
}  // namespace remotecl::testing
