// How links between servers come to be, and how they end.
#include <future>
#include <thread>

#include "server/peer/peer_fixture.h"
#include "server/peer/peer_table.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using PeerLinkTest = HostilePeerTest;

TEST_F(PeerLinkTest, EitherSideMayConnect) {
  link();
  expect_usable(false);
  // The same the other way round replaces it.
  const LinkId id = ++links_;
  a_.send(AcceptPeer{kSecond, id, secret_of(3)});
  const PeerAddress addresses[] = {{"127.0.0.1", 1}, {"127.0.0.1", address().port}};  // the first one does not answer
  b_.send(ConnectPeer{kFirst, id, a_.welcome().session, a_.welcome().epoch, secret_of(3),
                      std::span<const PeerAddress>(addresses)});
  EXPECT_EQ(state(a_, id), 1u);
  EXPECT_EQ(state(b_, id), 1u);
  expect_usable(false);
}

TEST_F(PeerLinkTest, ConnectionMayComeBeforeAcceptPeer) {
  const LinkId id = ++links_;
  connect(id, secret_of(7));
  std::this_thread::sleep_for(200ms);
  a_.ping();
  EXPECT_FALSE(a_.has<PeerState>());
  b_.send(AcceptPeer{kFirst, id, secret_of(7)});
  EXPECT_EQ(state(a_, id), 1u);
  EXPECT_EQ(state(b_, id), 1u);
  expect_usable(false);
}

// As if the server of the first attempt had been lost meanwhile, and another one had become peer 2.
TEST_F(PeerLinkTest, AnAttemptThatTakesLongDoesNotReplaceANewerLink) {
  tcp::Listener slow({"127.0.0.1", 0});
  const Secret secret = secret_of(static_cast<std::uint8_t>(++links_));
  std::promise<void> is_asked, goes_on;
  auto former = std::async(std::launch::async, [&] {
    std::unique_ptr<Connection> connections[2];
    for (auto& connection : connections) {
      connection = slow.accept();
      std::array<std::byte, kHelloSize> bytes;
      if (!connection->read_exactly(bytes)) return false;
      if (&connection == &connections[1]) {
        is_asked.set_value();
        goes_on.get_future().wait();
      }
      Welcome welcome{kMagic, kProtocolVersion, WelcomeStatus::kAccepted, 0, 1, {}, 1, 0, 0};
      welcome.secret = accepting_proof(secret, decode_frame<Hello>(bytes), welcome);
      connection->write(Bytes(encode_frame<Welcome, kWelcomeSize>(welcome)));
    }
    connections[0]->set_read_timeout(20s);
    std::byte byte;
    return connections[0]->read_some(std::span(&byte, 1)) == 0;
  });
  const PeerAddress address{"127.0.0.1", slow.address().port};
  a_.send(ConnectPeer{kSecond, links_, 1, 1, secret, std::span<const PeerAddress>(&address, 1)});
  is_asked.get_future().wait();
  link();
  goes_on.set_value();
  EXPECT_TRUE(former.get()) << "nobody wants it any more";
  expect_usable(false);
}

TEST_F(PeerLinkTest, UnknownSessionAndOtherEpochAreRefusedAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  connect(++links_, secret_of(7), 12345);
  EXPECT_NE(end_of_link(a_).find("no such session"), std::string::npos);
  const LinkId id = ++links_;
  b_.send(AcceptPeer{kFirst, id, secret_of(7)});
  b_.ping();
  const PeerAddress address{"127.0.0.1", second_.address().port};
  a_.send(ConnectPeer{kSecond, id, b_.welcome().session, b_.welcome().epoch + 1, secret_of(7),
                      std::span<const PeerAddress>(&address, 1)});
  EXPECT_NE(end_of_link(a_).find("another server"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
}

TEST_F(PeerLinkTest, WrongSecretsWaitTheirTimeAndLockNobodyOutForLonger) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<Connection>> waiting;
  for (int i = 0; i < 64; ++i) {
    waiting.push_back(connect_to_first());
    Hello hello = hello_of(Role::kPeerControl);
    hello.session = a_.welcome().session;
    hello.secret = secret_of(200);
    waiting.back()->write(Bytes(encode_frame<Hello, kHelloSize>(hello)));
  }
  for (auto& connection : waiting) {
    std::array<std::byte, kWelcomeSize> bytes;
    ASSERT_TRUE(connection->read_exactly(bytes));
    EXPECT_EQ(decode_frame<Welcome>(bytes).status, WelcomeStatus::kUnknownSession);
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, std::chrono::milliseconds(kHandshakeTimeoutMs) - 100ms);
  EXPECT_LT(took, std::chrono::milliseconds(kHandshakeTimeoutMs) + 2s);
  WireClient bystander(address());
  bystander.ping();
  a_.ping();
}

TEST_F(PeerLinkTest, SecretIsGoodForOneLink) {
  join(secret_of(9));
  EXPECT_EQ(knock(Role::kPeerControl, secret_of(9)), nullptr);
  say(PeerSignal{999, 0});  // the link has not noticed
  a_.send(ExpectEvent{999, kSecond});
  a_.send(ObserveEvent{999});
  EXPECT_EQ(a_.event_status(999), CL_COMPLETE);
}

TEST_F(PeerLinkTest, CutLinkIsReportedAndFailsWhatWaits) {
  join();
  const EventId gate = a_.id();
  a_.send(ExpectEvent{gate});
  a_.send(ForwardEvent{gate, kSecond});
  const EventId small = receive_here(a_.make_buffer(64), 64, 1),
                large = receive_here(a_.make_buffer(kLarge), kLarge, 2);
  const EventId offered = send(a_.make_buffer(kLarge), kLarge, 3);
  wait_for_pull(2);
  say_chunk(2, 1000, 0, 1000);
  a_.ping();
  control_->shutdown();
  EXPECT_EQ(end_of_link(a_), "the other server closed the connection");
  for (const EventId event : {small, large, offered}) EXPECT_LT(a_.event_status(event), 0);
  // What ends only now cannot be reported any more, and later commands fail at once.
  a_.send(SignalEvent{gate, -4});
  const auto undelivered = a_.wait<SignalUndelivered>();
  EXPECT_EQ(undelivered->event, gate);
  EXPECT_EQ(undelivered->status, -4);
  EXPECT_EQ(undelivered->peer, kSecond);
  EXPECT_LT(a_.event_status(receive_here(a_.make_buffer(64), 64, 4)), 0);
  expect_usable();
}

TEST_F(PeerLinkTest, SignalsWithoutAcknowledgementAreGivenBack) {
  join();
  for (EventId event = 5001; event <= 5003; ++event) {
    a_.send(ExpectEvent{event});
    a_.send(ForwardEvent{event, kSecond});
    a_.send(SignalEvent{event, 0});
  }
  a_.ping();
  say(PeerAck{1});
  say(PeerSignal{4999, 0});  // when that has come, the acknowledgement has
  a_.send(ExpectEvent{4999, kSecond});
  a_.send(ObserveEvent{4999});
  EXPECT_EQ(a_.event_status(4999), CL_COMPLETE);
  bulk_->shutdown();
  EXPECT_EQ(a_.wait<SignalUndelivered>()->event, 5002u);
  EXPECT_EQ(a_.wait<SignalUndelivered>()->event, 5003u);
  end_of_link(a_);
  EXPECT_FALSE(a_.has<SignalUndelivered>());
}

TEST_F(PeerLinkTest, ClientMaySignalForALostPeerAndTwiceIsHarmless) {
  join();
  const EventId event = 6000;
  a_.send(ExpectEvent{event, kSecond});
  a_.send(ObserveEvent{event});
  a_.send(ClosePeer{kSecond, 0});
  end_of_link(a_);
  a_.ping();
  EXPECT_FALSE(a_.has_ended(event)) << "the peer is not gone";
  a_.send(SignalEvent{event, 0, 5});  // a server that it is not expected from
  a_.ping();
  EXPECT_FALSE(a_.has_ended(event));
  a_.send(SignalEvent{event, 0, kSecond});
  EXPECT_EQ(a_.event_status(event), CL_COMPLETE);
  a_.send(SignalEvent{event, -1, kSecond});
  a_.send(SignalEvent{77777, -1, kSecond});
  a_.ping();
  EXPECT_FALSE(a_.has<EventDone>());
}

TEST_F(PeerLinkTest, EventsOfAPeerThatIsGoneFail) {
  join();
  a_.send(ExpectEvent{6000, kSecond});
  a_.send(ObserveEvent{6000});
  a_.send(ExpectEvent{6001});
  a_.send(ObserveEvent{6001});
  a_.send(ClosePeer{kSecond, 1});
  EXPECT_EQ(a_.event_status(6000), CL_DEVICE_NOT_AVAILABLE);
  a_.send(ExpectEvent{6002, kSecond});
  a_.send(ObserveEvent{6002});
  EXPECT_EQ(a_.event_status(6002), CL_DEVICE_NOT_AVAILABLE);
  EXPECT_FALSE(a_.has_ended(6001)) << "that one is the client's";
  a_.send(SignalEvent{6001, 0});
  EXPECT_EQ(a_.event_status(6001), CL_COMPLETE);
}

TEST_F(PeerLinkTest, SessionEndsWithTransfersInTheMiddle) {
  {
    WireClient leaving(address());
    const Secret secret = secret_of(77);
    leaving.send(AcceptPeer{kSecond, 1, secret});
    leaving.ping();
    auto control = knock(Role::kPeerControl, secret, leaving.welcome().session);
    auto bulk = knock(Role::kPeerBulk, secret, leaving.welcome().session);
    ASSERT_TRUE(control && bulk);
    leaving.wait<PeerState>();
    const ObjectId buffer = leaving.make_buffer(kLarge);
    for (TransferId transfer = 1; transfer <= 8; ++transfer) {
      const ObjectId queue = leaving.make_queue();
      const std::uint64_t size = transfer % 2 == 0 ? 64 : kLarge;
      if (transfer <= 4) {
        leaving.send(EnqueueSend{queue, leaving.id(), buffer, 0, 0, size, transfer, kSecond, {}});
      } else {
        leaving.send(EnqueueReceive{queue, leaving.id(), buffer, 0, 0, size, transfer, kSecond, {}});
      }
    }
    ByteBuffer out;  // bytes that nobody has asked for, too: they are the session's
    for (TransferId transfer = 100; transfer < 200; ++transfer) {
      append_message(out, PeerData{transfer, 0, Bytes(std::vector<std::byte>(1000))});
    }
    append_message(out, PullTransfer{1});
    append_message(out, PeerSignal{4242, 0});
    control->write(out.bytes());
    leaving.send(ExpectEvent{4242, kSecond});
    leaving.send(ObserveEvent{4242});
    EXPECT_EQ(leaving.event_status(4242), CL_COMPLETE);
  }
  EXPECT_TRUE(eventually([&] { return server_.sessions() == 1; }));
  expect_usable();
}

TEST_F(PeerLinkTest, SessionEndsWhileItConnectsToWhoDoesNotAnswer) {
  tcp::Listener silent({"127.0.0.1", 0});
  auto leaving = std::make_unique<WireClient>(address());
  std::vector<PeerAddress> addresses(server::PeerTable::kAddressesMax, PeerAddress{"127.0.0.1", silent.address().port});
  leaving->send(ConnectPeer{kSecond, 1, 1, 1, secret_of(1), std::span<const PeerAddress>(addresses)});
  const auto asked = silent.accept();
  const auto begin = std::chrono::steady_clock::now();
  leaving.reset();
  EXPECT_TRUE(eventually([&] { return server_.sessions() == 1; }));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
}

TEST_F(PeerLinkTest, MemoryStaysFlatOverManyLinks) {
  const auto make = [this](int count) {
    for (int i = 0; i < count; ++i) expect_usable();
  };
  make(20);
  const std::size_t before = resident_kib();
  make(60);
#ifdef __SANITIZE_ADDRESS__
  constexpr std::size_t kGrowthKibMax = 200 * 1024;  // it keeps freed memory for a while
#else
  constexpr std::size_t kGrowthKibMax = 64 * 1024;  // what is released goes a little later
#endif
  EXPECT_LT(resident_kib(), before + kGrowthKibMax) << "60 links with 6 MiB each must not leave any of them behind";
}

TEST_F(PeerLinkTest, PeersThatCannotBeEndTheSession) {
  a_.send(AcceptPeer{kPeersMax + 1, 1, {}});
  expect_session_error(a_, "peer " + std::to_string(kPeersMax + 1) + " cannot be");
  b_.send(ForwardEvent{1, kFirst});
  expect_session_error(b_, "never was linked");
}

}  // namespace
}  // namespace remotecl::testing
