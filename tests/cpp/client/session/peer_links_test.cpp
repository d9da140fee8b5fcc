// How a client has its servers linked, against servers that say what a test wants.
#include "runtime/client/session/peer_links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>

#include "fakes/wire/wire_server.h"
#include "runtime/client/session/session.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

class PeerLinksTest : public ::testing::Test {
 protected:
  PeerLinksTest() { ::unsetenv("REMOTECL_LOG"); }

  // What is said of these losses must not be found in the next test's output. The links name both sessions until then.
  ~PeerLinksTest() override {
    for (Session* session : {&a_, &b_}) session->add_interest();
    for (WireServer* server : {&a_server_, &b_server_}) server->control->shutdown();
    while (!a_.loss_is_settled() || !b_.loss_is_settled()) std::this_thread::sleep_for(1ms);
  }

  std::unique_ptr<Session> make(WireServer& server, std::uint32_t index) {
    server.welcome_both(WireServer::accepted());
    auto session = std::make_unique<Session>(group_, ServerName{server.address(), {}}, index);
    server.ready();
    return session;
  }
  std::future<bool> ask() {
    return std::async(std::launch::async, [this] { return group_.links.connected(a_, b_); });
  }
  // What the servers are told; the link's id.
  LinkId expect_attempt(WireServer& connecting, Session& connects, WireServer& accepting, Session& accepts) {
    ConnectPeer connect{};
    AcceptPeer accept{};
    EXPECT_TRUE(connecting.wait(connect));
    EXPECT_TRUE(accepting.wait(accept));
    EXPECT_EQ(connect.peer, accepts.peer_id());
    EXPECT_EQ(accept.peer, connects.peer_id());
    EXPECT_EQ(connect.secret, accept.secret);
    EXPECT_EQ(connect.link, accept.link);
    return connect.link;
  }
  void report(WireServer& from, Session& peer, LinkId link, bool is_connected, std::string_view text = {}) {
    from.send(PeerState{peer.peer_id(), link, is_connected ? 1u : 0u, text});
  }
  LinkId make_link() {
    auto connected = ask();
    const LinkId link = expect_attempt(a_server_, a_, b_server_, b_);
    report(a_server_, b_, link, true);
    EXPECT_EQ(connected.wait_for(50ms), std::future_status::timeout) << "both have to say it";
    report(b_server_, a_, link, true);
    EXPECT_TRUE(connected.get());
    return link;
  }
  // When this is answered, what the server said before has been taken.
  void settle(WireServer& server, Session& session) {
    auto asked = std::async(std::launch::async, [&] { return session.round_trip_us(); });
    Ping ping{};
    ASSERT_TRUE(server.wait(ping));
    server.send(Pong{ping.token});
    EXPECT_GE(asked.get(), 0);
  }

  SessionGroup group_;
  WireServer a_server_, b_server_;
  const std::unique_ptr<Session> a_owner_ = make(a_server_, 8), b_owner_ = make(b_server_, 9);
  Session& a_ = *a_owner_;
  Session& b_ = *b_owner_;
};

TEST_F(PeerLinksTest, OneSideIsTriedThenTheOtherAndFailureIsSaidOnce) {
  ::testing::internal::CaptureStderr();
  auto connected = ask();
  const LinkId first = expect_attempt(a_server_, a_, b_server_, b_);
  report(a_server_, b_, first, false, "no route from a");
  const LinkId second = expect_attempt(b_server_, b_, a_server_, a_);
  EXPECT_NE(first, second);
  report(a_server_, b_, first, true);  // too late
  report(b_server_, a_, second, false, "no route from b");
  EXPECT_FALSE(connected.get());
  EXPECT_FALSE(ask().get()) << "and not asked again at once";
  std::this_thread::sleep_for(5100ms);
  EXPECT_FALSE(ask().get()) << "a link that failed keeps nobody waiting";
  const LinkId third = expect_attempt(b_server_, b_, a_server_, a_);
  report(b_server_, a_, third, false, "no route from b");
  const LinkId fourth = expect_attempt(a_server_, a_, b_server_, b_);
  report(a_server_, b_, fourth, false, "no route from a");
  settle(a_server_, a_);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("no route from a"), std::string::npos) << said;
  EXPECT_NE(said.find("no route from b"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(PeerLinksTest, NobodyWaitsToKnowWhetherServersAreLinked) {
  PeerLinks& links = group_.links;
  EXPECT_EQ(links.linked(a_, b_), std::nullopt);
  auto connected = ask();
  const LinkId link = expect_attempt(a_server_, a_, b_server_, b_);
  EXPECT_EQ(links.linked(a_, b_), std::nullopt);
  report(a_server_, b_, link, true);
  report(b_server_, a_, link, true);
  EXPECT_TRUE(connected.get());
  EXPECT_EQ(links.linked(a_, b_), true);
}

TEST_F(PeerLinksTest, SecondDirectionMaySucceed) {
  auto connected = ask();
  report(a_server_, b_, expect_attempt(a_server_, a_, b_server_, b_), false, "refused");
  const LinkId link = expect_attempt(b_server_, b_, a_server_, a_);
  report(a_server_, b_, link, true);
  report(b_server_, a_, link, true);
  EXPECT_TRUE(connected.get());
}

// Or the loss would be taken for that of the next session of this index, and end its link.
TEST_F(PeerLinksTest, ALossIsSettledOnceTheOtherServersHaveBeenTold) {
  make_link();
  std::promise<void> goes_on;
  a_.expect_reply([&goes_on](std::uint16_t, const Bytes*) { goes_on.get_future().wait(); });
  auto closing = std::async(std::launch::async, [this] { a_.close(); });
  while (!a_.lost()) std::this_thread::sleep_for(1ms);
  EXPECT_FALSE(a_.loss_is_settled());
  goes_on.set_value();
  closing.get();
  EXPECT_TRUE(a_.loss_is_settled());
  ClosePeer close{};
  ASSERT_TRUE(b_server_.wait(close));
  EXPECT_EQ(close.peer, a_.peer_id());
}

TEST_F(PeerLinksTest, LostLinkIsNotUsedAndMadeAgainLater) {
  const LinkId link = make_link();
  ::testing::internal::CaptureStderr();
  report(b_server_, a_, link, false, "cut");
  ClosePeer close{};
  ASSERT_TRUE(a_server_.wait(close));
  EXPECT_EQ(close.peer, b_.peer_id());
  EXPECT_EQ(close.is_gone, 0u);
  EXPECT_FALSE(ask().get());
  report(a_server_, b_, link, false, "closed");
  settle(a_server_, a_);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  std::this_thread::sleep_for(5100ms);
  EXPECT_FALSE(ask().get());
  const LinkId next = expect_attempt(a_server_, a_, b_server_, b_);
  report(a_server_, b_, next, true);
  report(b_server_, a_, next, true);
  settle(a_server_, a_);
  settle(b_server_, b_);
  EXPECT_TRUE(ask().get());
}

TEST_F(PeerLinksTest, UndeliveredSignalIsPassedOnInItsServersName) {
  make_link();
  a_server_.send(SignalUndelivered{b_.peer_id(), 4711, -5});
  SignalEvent signal{};
  ASSERT_TRUE(b_server_.wait(signal));
  EXPECT_EQ(signal.event, 4711u);
  EXPECT_EQ(signal.status, -5);
  EXPECT_EQ(signal.peer, a_.peer_id());
}

TEST_F(PeerLinksTest, NonsenseIsIgnored) {
  const LinkId link = make_link();
  for (const PeerId peer : {PeerId{0}, a_.peer_id(), PeerId{60}, ~PeerId{0}}) {
    a_server_.send(PeerState{peer, link, 0, "nonsense"});
    a_server_.send(PeerState{peer, link, 1, {}});
    a_server_.send(SignalUndelivered{peer, 1, 0});
  }
  a_server_.send(PeerState{b_.peer_id(), link + 1000, 0, "another link"});
  settle(a_server_, a_);
  EXPECT_TRUE(ask().get());
  EXPECT_FALSE(a_.lost());
  SignalEvent signal{};
  EXPECT_FALSE(b_server_.wait(signal, 100ms));
}

TEST_F(PeerLinksTest, OtherServersLearnThatOneIsLost) {
  make_link();
  a_.add_interest();  // somebody reads
  a_server_.control->shutdown();
  ClosePeer close{};
  ASSERT_TRUE(b_server_.wait(close));
  EXPECT_EQ(close.peer, a_.peer_id());
  EXPECT_EQ(close.is_gone, 1u);
  EXPECT_FALSE(ask().get());
}

TEST_F(PeerLinksTest, WhoWaitsForALinkLearnsThatAServerIsLost) {
  auto connected = ask();
  expect_attempt(a_server_, a_, b_server_, b_);
  b_server_.control->shutdown();
  ASSERT_EQ(connected.wait_for(2s), std::future_status::ready);
  EXPECT_FALSE(connected.get());
}

}  // namespace
}  // namespace remotecl::testing
