// What a daemon does when a session, which may be under an attacker's control, asks for a connection of a link.
#include "server/peer/local_link_dialer.h"

#include <arpa/inet.h>

#include <future>

#include "server/peer/peer_fixture.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using server::LinkDialer;
using server::LocalLinkDialer;

constexpr std::uint64_t kOwnEpoch = 7, kOtherEpoch = 8;

// Listens, and keeps what comes in.
class Stranger {
 public:
  explicit Stranger(std::string answer = {}) : answer_(std::move(answer)) {
    thread_ = std::thread([this] {
      while (auto connection = listener_.accept()) {
        ++connections_;
        if (!answer_.empty()) connection->write(as_bytes(answer_));
        std::byte bytes[4096];
        while (const std::size_t count = connection->read_some(bytes)) heard_ += count;
      }
    });
  }
  ~Stranger() {
    listener_.close();
    thread_.join();
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  Address address() const { return listener_.address(); }
  int connections() const { return connections_; }
  std::size_t heard() const { return heard_; }

 private:
  const std::string answer_;
  tcp::Listener listener_{{"127.0.0.1", 0}};
  std::atomic<int> connections_{0};
  std::atomic<std::size_t> heard_{0};
  std::thread thread_;
};

JoinRequest request(Role role = Role::kPeerControl) { return {role, {1, kOtherEpoch, {}}}; }

class LocalLinkDialerTest : public ::testing::Test {
 protected:
  // Empty: it has connected.
  std::string failure(const LinkDialer::Wanted& wanted, Clock::duration patience = 5s) {
    try {
      dialer_.dial(wanted, 5s, Clock::now() + patience, stopping_.get_token());
      return "";
    } catch (const ConnectionError& error) {
      return error.what();
    }
  }

  server::PeerRules rules_;
  server::OwnPorts ports_;
  std::stop_source stopping_;
  LocalLinkDialer dialer_{{rules_, ports_, kOwnEpoch}, {1, "bob", {"127.0.0.1", 1}}};
};

TEST_F(LocalLinkDialerTest, TheDaemonItselfIsNeverConnectedTo) {
  const Stranger daemon;
  ports_.add(daemon.address().port);
  for (const char* host : {"127.0.0.1", "127.9.9.9", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1", "localhost"}) {
    EXPECT_NE(failure({{{host, daemon.address().port}}, {}, request()}), "") << host;
  }
  for (const auto& own : server::own_addresses()) {
    char text[64] = {};
    ::inet_ntop(AF_INET6, own.data(), text, sizeof text);
    EXPECT_NE(failure({{{text, daemon.address().port}}, {}, request()}).find("is this server itself"),
              std::string::npos)
        << text;
  }
  EXPECT_EQ(daemon.connections(), 0);
}

TEST_F(LocalLinkDialerTest, ASessionIsNotLinkedToItsOwnDaemon) {
  const Stranger there;
  JoinRequest own = request();
  own.invitation.epoch = kOwnEpoch;
  EXPECT_NE(failure({{there.address()}, {}, own}).find("not linked to itself"), std::string::npos);
  EXPECT_EQ(there.connections(), 0);
}

TEST_F(LocalLinkDialerTest, OnlyConnectionsOfLinksAreMade) {
  const Stranger there;
  for (const Role role : {Role::kControl, Role::kBulk, Role::kMonitor, static_cast<Role>(99)}) {
    EXPECT_NE(failure({{there.address()}, {}, request(role)}).find("for links only"), std::string::npos);
  }
  EXPECT_EQ(there.connections(), 0);
}

TEST_F(LocalLinkDialerTest, OtherProgramsSeeTheBeginningOfAHandshake) {
  const Stranger talks("SSH-2.0-OpenSSH_9.2p1, and more than a Welcome has, which nobody reads, as it is not one\r\n");
  const std::string words = failure({{talks.address()}, {}, request()});
  EXPECT_NE(words.find("no server that is to be linked has answered"), std::string::npos) << words;
  EXPECT_LE(talks.heard(), kHelloSize);
  EXPECT_EQ(talks.connections(), 1);
}

TEST_F(LocalLinkDialerTest, AttemptsAreLimited) {
  const Address closed = tcp::Listener({"127.0.0.1", 0}).address();
  const auto asked = [&] { return failure({{closed}, {}, request()}, 1ms); };
  for (unsigned i = 0; i < LocalLinkDialer::kAttemptsAtOnce; ++i) asked();
  const Stranger there;
  unsigned reached = 0;
  const auto begin = Clock::now();
  while (Clock::now() < begin + 300ms) {
    failure({{there.address()}, {}, request()}, 1ms);
    reached = static_cast<unsigned>(there.connections());
  }
  EXPECT_LE(reached, LocalLinkDialer::kAttemptsPerSecond) << "after as many as it may make in a row";
}

TEST_F(LocalLinkDialerTest, ItEndsWithItsSession) {
  const Stranger silent;
  const auto begin = Clock::now();
  auto ended = std::async(std::launch::async, [&] { return failure({{silent.address()}, {}, request()}, 60s); });
  while (silent.connections() == 0) std::this_thread::yield();
  stopping_.request_stop();
  EXPECT_NE(ended.get(), "");
  EXPECT_LT(Clock::now() - begin, 2s);
}

class LinkedDialerTest : public PeerTest {};

TEST_F(LinkedDialerTest, AServerThatExpectsThePeerAccepts) {
  const Secret secret = secret_of(5);
  b_.send(AcceptPeer{kFirst, 1, secret});
  b_.ping();
  server::PeerRules rules;
  server::OwnPorts ports;
  LocalLinkDialer dialer({rules, ports, kOwnEpoch}, {1, "bob", {"127.0.0.1", 1}});
  const Invitation invitation{b_.welcome().session, b_.welcome().epoch, secret};
  const LinkDialer::Wanted wanted{
      {{"localhost", second_.address().port}}, {}, {Role::kPeerControl, invitation, kFeatureResumable}};
  const auto dialed = dialer.dial(wanted, 5s, Clock::now() + 5s, {});
  EXPECT_NE(dialed.connection, nullptr);
  EXPECT_EQ(dialed.taken.features, kFeatureResumable);
  EXPECT_EQ(dialed.address.port, second_.address().port);
  LinkDialer::Wanted wrong = wanted;
  wrong.request.invitation.secret = secret_of(6);
  EXPECT_THROW(dialer.dial(wrong, 5s, Clock::now() + 1s, {}), ConnectionError) << "it waits until it is announced";
}

}  // namespace
}  // namespace remotecl::testing
