// A stream of bulk data over several connections, as clients that behave and others ask for it.
#include "runtime/handshake/stripes.h"

#include <random>

#include "runtime/transport/stream/striped_connection.h"
#include "server/fixture.h"
#include "server/session/setting.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kSize = 9u << 20;

std::vector<std::byte> random_bytes(std::size_t size) {
  std::mt19937 random(5);
  std::vector<std::byte> bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

class StripesTest : public CommandTest {
 protected:
  Invitation invitation() const {
    return {client_.welcome().session, client_.welcome().epoch, client_.welcome().secret};
  }
  // The first connection of a stream that asks for so many; the server takes `taken_`.
  std::unique_ptr<Connection> ask_for(unsigned count) {
    auto first = connect();
    first->set_read_timeout(20s);
    const std::uint64_t features = features_of_stripes(count);
    const Welcome welcome = handshake_for_session(*first, address(), Role::kBulk, invitation(), features);
    taken_ = stripes_of(welcome.features);
    group_ = invitation();
    group_.secret = stripes_key(invitation(), Role::kBulk, features, welcome.features);
    return first;
  }
  Joiner joiner() {
    return join_by([this](std::chrono::milliseconds, Deadline) { return std::shared_ptr<Connection>(connect()); },
                   address());
  }
  void use(std::unique_ptr<Connection> first, std::vector<std::shared_ptr<Connection>> further) {
    further.insert(further.begin(), std::move(first));
    carriers_ = further;
    client_.use_bulk(std::make_unique<StripedConnection>(std::move(further)));
    client_.bulk().set_read_timeout(20s);
  }
  void expect_data_passes() {
    const auto data = random_bytes(kSize);
    const ObjectId buffer = client_.make_buffer(kSize);
    const TransferId in = client_.id(), out = client_.id();
    const EventId written = client_.id();
    client_.send(EnqueueWrite{queue_, written, buffer, 0, kSize, in, {}, {}});
    client_.wait<PullTransfer>();
    client_.send_bulk(in, data);
    EXPECT_EQ(client_.event_status(written), CL_COMPLETE);
    client_.send(EnqueueRead{queue_, client_.id(), buffer, 0, kSize, out, {}});
    EXPECT_EQ(client_.receive_bulk(out, kSize), data);
  }
  // What a further connection of the stream is answered.
  WelcomeStatus answer(unsigned index, const Secret& key) {
    Hello hello{kMagic, kProtocolVersion, Role::kStripe, features_of_stripes(index), invitation().session, {}};
    hello.secret = connecting_proof(key, hello);
    stripes_.push_back(connect());
    return shake_hands(*stripes_.back(), hello)->status;
  }
  static void say(Connection& first, std::uint64_t count) {
    first.write(Bytes(encode_frame<StripesJoined, kStripesJoinedSize>({count})));
  }

  const Setting number_{"REMOTECL_BULK_STREAMS", "3"};  // the server's
  Invitation group_{};
  unsigned taken_ = 0;
  std::vector<std::shared_ptr<Connection>> carriers_;
  std::vector<std::unique_ptr<Connection>> stripes_;
};

TEST_F(StripesTest, DataGoesOverAllOfThem) {
  auto first = ask_for(3);
  EXPECT_EQ(taken_, 3u);
  auto further = open_stripes(*first, address(), group_, taken_, joiner());
  ASSERT_EQ(further.size(), 2u);
  use(std::move(first), std::move(further));
  expect_data_passes();
  server_.driver().device(0)->memory().stage_always();
  expect_data_passes();
  for (const auto& carrier : carriers_) {
    EXPECT_GT(carrier->bytes_sent(), kSize / 2);
    EXPECT_GT(carrier->bytes_received(), kSize / 2);
  }
}

TEST_F(StripesTest, TheSmallerNumberIsUsed) {
  auto first = ask_for(8);
  EXPECT_EQ(taken_, 3u);
  auto further = open_stripes(*first, address(), group_, 2, joiner());
  use(std::move(first), std::move(further));
  EXPECT_EQ(carriers_.size(), 2u);
  expect_data_passes();
}

TEST_F(StripesTest, EitherSideCanDoWithOne) {
  const Setting one("REMOTECL_BULK_STREAMS", "1");
  client_.use_bulk(ask_for(8));
  EXPECT_EQ(taken_, 0u);
  expect_data_passes();
}

TEST_F(StripesTest, OneThatCannotBeMadeIsDoneWithout) {
  auto first = ask_for(3);
  std::atomic<int> attempts{0};
  const Joiner failing = join_by(
      [&](std::chrono::milliseconds, Deadline) -> std::shared_ptr<Connection> {
        ++attempts;
        throw ConnectionError("no more connections");
      },
      address());
  EXPECT_TRUE(open_stripes(*first, address(), group_, taken_, failing).empty());
  EXPECT_EQ(attempts, 2);
  client_.use_bulk(std::move(first));
  expect_data_passes();
}

TEST_F(StripesTest, WhoDoesNotKnowTheSecretIsNoPartOfIt) {
  auto first = ask_for(3);
  EXPECT_EQ(answer(1, invitation().secret), WelcomeStatus::kUnknownSession) << "the session's is another one";
  EXPECT_EQ(answer(1, Secret{}), WelcomeStatus::kUnknownSession);
  EXPECT_EQ(answer(0, group_.secret), WelcomeStatus::kUnknownSession) << "no index";
  EXPECT_EQ(answer(3, group_.secret), WelcomeStatus::kUnknownSession) << "no such index";
  EXPECT_EQ(answer(2, group_.secret), WelcomeStatus::kAccepted);
  EXPECT_EQ(answer(2, group_.secret), WelcomeStatus::kUnknownSession) << "the index is taken";
  say(*first, 1);
  client_.use_bulk(std::move(first));
  expect_data_passes();
  EXPECT_EQ(answer(1, group_.secret), WelcomeStatus::kUnknownSession) << "too late";
}

TEST_F(StripesTest, WhoCountsConnectionsThatAreNotThereLosesTheSession) {
  auto first = ask_for(3);
  EXPECT_EQ(answer(2, group_.secret), WelcomeStatus::kAccepted);
  say(*first, 3);
  EXPECT_TRUE(eventually([&] { return server_.sessions() == 0; }));
}

TEST_F(StripesTest, ASessionThatEndsWaitsForNone) {
  auto first = ask_for(3);
  client_.control().shutdown();
  EXPECT_TRUE(eventually([&] { return server_.connections() == 0; }));
}

// The server waits for further connections on one that nothing comes over any more.
TEST_F(StripesTest, GoesOnWhenTheFirstIsLostBeforeTheOthersAreMade) {
  auto control = connect();
  const Welcome welcome = handshake_with_server(*control, address(), nullptr, Role::kControl, kFeatureResumable);
  const Invitation invitation{welcome.session, welcome.epoch, welcome.secret};
  auto silent = connect();
  const std::uint64_t features = kFeatureResumable | features_of_stripes(3);
  EXPECT_EQ(handshake_for_session(*silent, address(), Role::kBulk, invitation, features).features, features);
  EXPECT_EQ(handshake_again(*connect(), address(), Role::kBulk, invitation, 0).received, 0u);
}

// Not for a stream that is put together, either: it goes on.
TEST_F(StripesTest, NobodyComesBackForAChannelThatIsNotThere) {
  auto first = ask_for(3);
  Hello hello{kMagic, kProtocolVersion, Role::kBulk, kFeatureResume | features_of_channel(1), invitation().session, {}};
  auto stranger = connect();
  const auto answered = shake_hands(*stranger, hello);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->status, WelcomeStatus::kUnknownSession);
  auto further = open_stripes(*first, address(), group_, taken_, joiner());
  ASSERT_EQ(further.size(), 2u);
  use(std::move(first), std::move(further));
  expect_data_passes();
}

// What was said to put the stream together is none of its bytes.
TEST_F(StripesTest, NothingOfAConnectionThatFailedToGatherOthersIsBulkData) {
  auto control = connect();
  const Welcome welcome = handshake_with_server(*control, address(), nullptr, Role::kControl, kFeatureResumable);
  const Invitation invitation{welcome.session, welcome.epoch, welcome.secret};
  auto first = connect();
  handshake_for_session(*first, address(), Role::kBulk, invitation, kFeatureResumable | features_of_stripes(3));
  ByteBuffer words;
  words.append(encode_frame<StripesJoined, kStripesJoinedSize>({3}));  // none of them is there
  words.append(std::vector<std::byte>(64, std::byte{3}));
  ASSERT_TRUE(first->write(words.bytes()));
  first->set_read_timeout(20s);
  std::byte byte;
  EXPECT_EQ(first->read_some({&byte, 1}), 0u);
  EXPECT_EQ(handshake_again(*connect(), address(), Role::kBulk, invitation, 0).received, 0u);
}

TEST_F(StripesTest, GoesOnOverAsManyOrFewerConnections) {
  auto control = connect();
  const Welcome welcome = handshake_with_server(*control, address(), nullptr, Role::kControl, kFeatureResumable);
  const Invitation invitation{welcome.session, welcome.epoch, welcome.secret};
  auto bulk = connect();
  handshake_for_session(*bulk, address(), Role::kBulk, invitation, kFeatureResumable);
  bulk.reset();
  // Only what the server has begun can be carried on.
  ASSERT_TRUE(eventually([&] {
    try {
      handshake_again(*connect(), address(), Role::kBulk, invitation, 0);
      return true;
    } catch (const StreamGone&) {
      return false;
    }
  }));
  for (const unsigned count : {3, 2, 1}) {
    SCOPED_TRACE(count);
    auto again = connect();
    const Resumption there =
        handshake_again(*again, address(), Role::kBulk, invitation, 0, features_of_stripes(count < 2 ? 0 : count));
    EXPECT_EQ(there.received, 0u);
    EXPECT_EQ(there.stripes, count < 2 ? 0 : count);
    const auto further = open_stripes(*again, address(), {invitation.session, invitation.epoch, there.stripes_key},
                                      there.stripes, joiner());
    EXPECT_EQ(further.size(), count - 1);
  }
}

}  // namespace
}  // namespace remotecl::testing
