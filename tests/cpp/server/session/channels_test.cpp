// The bulk channels of a session, as clients that behave and others ask for them.
#include "runtime/handshake/channels.h"

#include "server/fixture.h"
#include "server/session/setting.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

class ChannelsTest : public ServerTest {
 protected:
  // The server's, of any number of devices; before it starts, as its processes have it, too.
  static void SetUpTestSuite() { ::setenv("REMOTECL_BULK_CHANNELS", "2", 1); }
  static void TearDownTestSuite() { ::unsetenv("REMOTECL_BULK_CHANNELS"); }

  Welcome open_channel(unsigned number, unsigned wanted, std::string* text = nullptr) {
    Hello hello = hello_of(Role::kBulk);
    hello.features = features_of_channel(number) | features_of_channel_count(wanted);
    hello.session = client_.welcome().session;
    hello.secret = connecting_proof(client_.welcome().secret, hello);
    auto connection = connect();
    connection->set_read_timeout(20s);
    const auto welcome = shake_hands(*connection, hello, text);
    if (!welcome) throw std::runtime_error("no answer");
    if (welcome->status == WelcomeStatus::kAccepted) channels_[number] = std::move(connection);
    return *welcome;
  }

  WireClient client_{address()};
  std::map<unsigned, std::unique_ptr<Connection>> channels_;
};

TEST_F(ChannelsTest, TheSmallerNumberIsUsed) {
  EXPECT_EQ(channel_count_of(open_channel(0, 8).features), 2u);
  EXPECT_EQ(open_channel(1, 0).status, WelcomeStatus::kAccepted);
  client_.ping();
}

TEST_F(ChannelsTest, WhoAsksForNoneHasOne) {
  EXPECT_EQ(channel_count_of(open_channel(0, 0).features), 0u);
  EXPECT_EQ(open_channel(1, 0).status, WelcomeStatus::kBusy);
  client_.ping();
}

TEST_F(ChannelsTest, OneThatIsNotThereIsRefused) {
  std::string text;
  EXPECT_EQ(open_channel(1, 0, &text).status, WelcomeStatus::kBusy) << "before the first one";
  EXPECT_NE(text.find("is none of them"), std::string::npos) << text;
  open_channel(0, 2);
  for (const unsigned number : {2u, 8u, 15u}) EXPECT_EQ(open_channel(number, 0).status, WelcomeStatus::kBusy);
  client_.ping();
}

TEST_F(ChannelsTest, OneThatIsTakenIsRefused) {
  open_channel(0, 2);
  open_channel(1, 0);
  std::string text;
  EXPECT_EQ(open_channel(1, 0, &text).status, WelcomeStatus::kBusy);
  EXPECT_NE(text.find("has its connection"), std::string::npos) << text;
  EXPECT_EQ(open_channel(0, 8).status, WelcomeStatus::kBusy) << "and changes no number";
  EXPECT_EQ(open_channel(2, 0).status, WelcomeStatus::kBusy);
  client_.ping();
}

TEST_F(ChannelsTest, TheNumberIsPartOfTheProof) {
  Hello hello = hello_of(Role::kBulk);
  hello.features = features_of_channel_count(2);
  hello.session = client_.welcome().session;
  hello.secret = connecting_proof(client_.welcome().secret, hello);
  hello.features |= features_of_channel(1);
  const auto welcome = shake_hands(*connect(), hello);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->status, WelcomeStatus::kUnknownSession);
}

TEST_F(ChannelsTest, BytesOnAnothersChannelEndTheSession) {
  open_channel(0, 2);
  open_channel(1, 0);
  const ObjectId queue = client_.make_queue();
  const ObjectId buffer = client_.make_buffer(1u << 17);
  const TransferId in = client_.id();
  client_.send(EnqueueWrite{queue, client_.id(), buffer, 0, 1u << 17, in, {}, {}});
  client_.wait<PullTransfer>();
  const std::vector<std::byte> bytes(1u << 17);
  channels_[1]->write(Bytes(encode_frame<BulkHeader, kBulkHeaderSize>({in, 1u << 17, 0})), bytes);
  expect_session_error(client_, "which was not pulled");
}

// Were the second one not known to the session, whoever follows it would wait for ever.
TEST_F(ChannelsTest, ATransferIdIsOfOneChannelOnly) {
  open_channel(0, 2);
  open_channel(1, 0);
  static constexpr std::int64_t kByCount[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END,
                                              0};
  static constexpr std::uint32_t kOther[] = {1001};  // of the second channel
  client_.send(CreateSubDevices{0, client_.id(), Array<std::int64_t>(kByCount, 4), Array<std::uint32_t>(kOther, 1)});
  if (client_.wait<SubDevices>()->error != CL_SUCCESS) GTEST_SKIP() << "the driver makes no parts of devices";
  const ObjectId buffer = client_.make_buffer(1u << 17);
  const TransferId in = client_.id();
  client_.send(EnqueueWrite{client_.make_queue(0, 0), client_.id(), buffer, 0, 1u << 17, in, {}, {}});
  client_.wait<PullTransfer>();
  client_.send(EnqueueWrite{client_.make_queue(0, 1001), client_.id(), buffer, 0, 1u << 17, in, {}, {}});
  expect_session_error(client_, "is in use");
}

TEST_F(ChannelsTest, NobodyCanHaveReceivedFromOneThatIsNotThere) {
  client_.send(ClientReceived{StreamKind::kBulk, 1, 0});
  expect_session_error(client_, "more than was sent");
}

TEST(BulkChannels, AreAsManyAsDevicesAndCoresAndAtLeastOne) {
  EXPECT_EQ(bulk_channels(0), 1u);
  EXPECT_EQ(bulk_channels(1), 1u);
  EXPECT_LE(bulk_channels(1000), kBulkChannelsMax);
  for (const char* const nonsense : {"0", "9", "two", "", "22"}) {
    const Setting setting("REMOTECL_BULK_CHANNELS", nonsense);
    EXPECT_EQ(bulk_channels(1), 1u) << nonsense;
  }
  const Setting setting("REMOTECL_BULK_CHANNELS", "5");
  EXPECT_EQ(bulk_channels(1), 5u);
}

}  // namespace
}  // namespace remotecl::testing
