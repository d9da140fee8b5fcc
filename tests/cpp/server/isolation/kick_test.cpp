// Who may end whose session, and what its client learns.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "fakes/wire/wire_monitor.h"
#include "runtime/transport/tcp/operator_socket.h"
#include "server/isolation/endless.h"
#include "server/isolation/ends.h"
#include "support/other_user.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

// Why a client that comes back for its session may not go on with it.
std::string words_for_who_returns(const Address& address, const Welcome& welcome) {
  const auto connection = tcp::connect(address, 5s);
  try {
    handshake_again(*connection, address, Role::kControl, {welcome.session, welcome.epoch, welcome.secret}, 0);
  } catch (const StreamGone& gone) {
    return gone.what();
  }
  return "may go on";
}

// The processes that this one has started; how many there are.
int stop_children() {
  int count = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(thread.path() / "children");
    for (pid_t child = 0; children >> child; ++count) ::kill(child, SIGSTOP);
  }
  return count;
}

class KickTest : public ::testing::TestWithParam<bool> {
 protected:
  server::Server server_{
      Address{"127.0.0.1", 0}, "0", {}, {}, {}, GetParam() ? isolation() : std::optional<server::ProcessCommand>()};
};

TEST_P(KickTest, TheSessionEndsAndItsClientIsTold) {
  EndlessWork stays(server_.address()), goes(server_.address());
  WireMonitor monitor(server_.address());
  const SessionKicked answer = monitor.kick(goes.client.welcome().session);
  EXPECT_EQ(answer.result, KickResult::kEnded) << answer.text;
  EXPECT_NE(goes.client.wait<SessionError>()->text.find("remotecl kick"), std::string::npos);
  EXPECT_NE(words_for_who_returns(server_.address(), goes.client.welcome()).find("remotecl kick"), std::string::npos);
  stays.client.ping();
  EXPECT_EQ(monitor.ask().status.session_count, 1u);
  EXPECT_EQ(monitor.kick(goes.client.welcome().session).result, KickResult::kUnknown) << "it is gone";
  EXPECT_NE(server_.metrics().find("remotecl_sessions_crashed_total 0"), std::string::npos);
}

TEST_P(KickTest, AProcessThatIsStoppedIsKilled) {
  if (!GetParam()) GTEST_SKIP() << "there is none";
  EndlessWork work(server_.address());
  WireMonitor monitor(server_.address());
  ASSERT_EQ(monitor.ask().sessions.size(), 1u);
  // A process that an attacker controls ignores requests to end.
  ASSERT_GT(stop_children(), 0);
  EXPECT_EQ(monitor.kick(work.client.welcome().session).result, KickResult::kEnded);
  EXPECT_NE(words_for_who_returns(server_.address(), work.client.welcome()).find("remotecl kick"), std::string::npos);
}

TEST_P(KickTest, OnlyMonitorsAskForIt) {
  WireClient client(server_.address());
  client.send(KickSession{1, client.welcome().session});
  ServerTest::expect_session_error(client, "only a monitor");
  WireMonitor monitor(server_.address());
  EXPECT_EQ(monitor.kick(4711).result, KickResult::kUnknown);
}

INSTANTIATE_TEST_SUITE_P(Servers, KickTest, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "Isolated" : "InOneProcess"; });

TEST(KickIsolatedTest, ASessionInTheMidstOfAKernelEnds) {
  server::Server server(Address{"127.0.0.1", 0}, "0", {}, {}, {}, isolation());
  EndlessWork work(server.address());
  work.run_endless();
  EXPECT_EQ(WireMonitor(server.address()).kick(work.client.welcome().session).result, KickResult::kEnded);
  EXPECT_NE(work.client.wait<SessionError>()->text.find("remotecl kick"), std::string::npos);
  EXPECT_TRUE(is_empty(server));
}

class KickRightsTest : public ::testing::TestWithParam<bool> {
 protected:
  KickRightsTest() {
    LimitsTable limits;
    limits.users.push_back({"alice", alice_, {}});
    limits.users.push_back({"bob", bob_, {}});
    limits.users.push_back({"olivia", olivia_, {}});
    limits.users.back().limits.is_operator = true;
    server_.emplace(Address{"127.0.0.1", 0}, "0", common_, std::nullopt, std::move(limits),
                    GetParam() ? isolation() : std::nullopt);
  }
  // A session of somebody's: its number and what keeps it.
  std::pair<std::uint64_t, std::unique_ptr<Connection>> begin(const AccessToken& token) {
    auto connection = tcp::connect(server_->address(), 5s);
    const Welcome welcome = handshake_with_server(*connection, server_->address(), &token);
    return {welcome.session, std::move(connection)};
  }
  // Over TCP, which says nothing of who asks.
  std::unique_ptr<Connection> connect() const { return tcp::connect(server_->address(), 5s); }
  // What becomes of it when another user of this machine asks.
  KickResult kick(const AccessToken& token, std::uint64_t session) {
    KickResult result{};
    as_other_user([&] { result = WireMonitor(server_->address(), token).kick(session).result; });
    return result;
  }
  void SetUp() override {
    if (!as_other_user([] {})) GTEST_SKIP() << "only root can be another user of this machine";
  }

  const AccessToken common_{"the token of most", "a test"}, alice_{"the token of alice", "a test"},
      bob_{"the token of bob..", "a test"}, olivia_{"the token of olivia", "a test"};
  std::optional<server::Server> server_;
};

TEST_P(KickRightsTest, OthersSessionsAreNotForEverybody) {
  const auto [of_alice, kept] = begin(alice_);
  EXPECT_EQ(kick(common_, of_alice), KickResult::kRefused);
  EXPECT_EQ(kick(bob_, of_alice), KickResult::kUnknown) << "of those that are his";
  const auto [of_all, also_kept] = begin(common_);
  EXPECT_EQ(kick(common_, of_all), KickResult::kRefused) << "everybody may have this token";
  EXPECT_EQ(server_->sessions(), 2u);
}

TEST_P(KickRightsTest, OwnSessionsAreForThoseWithATokenOfTheirOwn) {
  const auto [of_alice, kept] = begin(alice_);
  EXPECT_EQ(kick(alice_, of_alice), KickResult::kEnded);
}

TEST_P(KickRightsTest, AnOperatorMayEndAll) {
  const auto [of_alice, kept] = begin(alice_);
  const auto [of_all, also_kept] = begin(common_);
  EXPECT_EQ(kick(olivia_, of_alice), KickResult::kEnded);
  EXPECT_EQ(kick(olivia_, of_all), KickResult::kEnded);
}

// A TCP connection of the daemon's user may be one that the daemon has made for somebody.
TEST_P(KickRightsTest, TheOwnerOfATcpSocketIsNoOperator) {
  const auto [of_alice, kept] = begin(alice_);
  EXPECT_EQ(WireMonitor(connect(), server_->address(), common_).kick(of_alice).result, KickResult::kRefused);
  EXPECT_EQ(WireMonitor(connect(), server_->address(), bob_).kick(of_alice).result, KickResult::kUnknown);
  EXPECT_EQ(WireMonitor(connect(), server_->address(), olivia_).kick(of_alice).result, KickResult::kEnded);
}

TEST_P(KickRightsTest, TheDaemonsUserIsAnOperatorAtTheOperatorsSocket) {
  const auto [of_alice, kept] = begin(alice_);
  EXPECT_EQ(WireMonitor(server_->address(), bob_).kick(of_alice).result, KickResult::kEnded);
}

TEST_P(KickRightsTest, OthersSessionsAreForOperatorsToSee) {
  const auto [of_alice, kept] = begin(alice_);
  const auto [of_bob, also_kept] = begin(bob_);
  const auto seen = [&](const KnownStatus& status) {
    std::set<std::uint64_t> sessions;
    for (const SessionStatus& session : status.sessions) sessions.insert(session.session);
    EXPECT_EQ(status.status.session_count, 2u);
    return sessions;
  };
  const std::set<std::uint64_t> all{of_alice, of_bob};
  const auto is_there = [&] { return seen(WireMonitor(server_->address(), bob_).ask()) == all; };
  EXPECT_TRUE(ServerTest::eventually(is_there)) << "of who has the daemon's rights";
  EXPECT_EQ(seen(WireMonitor(connect(), server_->address(), olivia_).ask()), all);
  EXPECT_EQ(seen(WireMonitor(connect(), server_->address(), bob_).ask()), std::set<std::uint64_t>{of_bob});
  as_other_user([&] {
    EXPECT_EQ(seen(WireMonitor(server_->address(), bob_).ask()), std::set<std::uint64_t>{of_bob});
    EXPECT_TRUE(seen(WireMonitor(server_->address(), common_).ask()).empty());
  });
}

TEST_P(KickRightsTest, SessionsDoNotBeginAtTheOperatorsSocket) {
  const auto connection = operator_socket::connect(server_->address());
  ASSERT_NE(connection, nullptr);
  EXPECT_THROW(handshake_with_server(*connection, server_->address(), &alice_), ConnectionError);
  EXPECT_EQ(server_->sessions(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Servers, KickRightsTest, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "Isolated" : "InOneProcess"; });

}  // namespace
}  // namespace remotecl::testing
