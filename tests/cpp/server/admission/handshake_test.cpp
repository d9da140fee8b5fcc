#include <cstdlib>

#include "server/fixture.h"

#include <random>

namespace remotecl::testing {
namespace {

using HandshakeTest = ServerTest;

TEST_F(HandshakeTest, ControlConnectionIsWelcomeAndGetsTheDevices) {
  WireClient client(address());
  EXPECT_EQ(client.welcome().version, kProtocolVersion);
  EXPECT_NE(client.welcome().session, 0u);
  EXPECT_NE(client.welcome().secret, Secret{});
  ASSERT_EQ(client.device_list().devices.size(), 1u);
  client.device_list().devices.for_each([](const DeviceDescription& device) {
    EXPECT_EQ(device.index, 0u);
    EXPECT_GT(device.info.size(), 50u);
    bool has_name = false;
    device.info.for_each([&](const InfoValue& info) {
      if (info.name == CL_DEVICE_NAME) has_name = info.value.size() > 1;
      EXPECT_NE(info.name, static_cast<std::uint32_t>(CL_DEVICE_PLATFORM));
    });
    EXPECT_TRUE(has_name);
    EXPECT_GE(device.platform_info.size(), 5u);
  });
}

TEST_F(HandshakeTest, TwoSessionsDifferAndShareAnEpoch) {
  WireClient first(address()), second(address());
  EXPECT_NE(first.welcome().session, second.welcome().session);
  EXPECT_NE(first.welcome().secret, second.welcome().secret);
  EXPECT_EQ(first.welcome().epoch, second.welcome().epoch);
}

TEST_F(HandshakeTest, OtherVersionIsRefusedWithBothVersionsAndTheRemedy) {
  const auto connection = connect();
  Hello hello = hello_of(Role::kControl);
  hello.version = 4711;
  std::string text;
  const auto welcome = shake_hands(*connection, hello, &text);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->status, WelcomeStatus::kVersionMismatch);
  EXPECT_NE(text.find("4711"), std::string::npos) << text;
  EXPECT_NE(text.find("version " + std::to_string(kProtocolVersion)), std::string::npos) << text;
  EXPECT_NE(text.find("install"), std::string::npos) << text;
  std::byte more;
  EXPECT_EQ(connection->read_some({&more, 1}), 0u);
}

TEST_F(HandshakeTest, EitherSideCanKeepBulkDataOutOfSharedMemory) {
  WireClient client(address());
  Hello hello = hello_of(Role::kBulk);
  hello.features = kFeatureSharedMemory;
  hello.session = client.welcome().session;
  hello.secret = connecting_proof(client.welcome().secret, hello);
  ::setenv("REMOTECL_SHARED_MEMORY", "off", 1);
  const auto connection = connect();
  const auto welcome = shake_hands(*connection, hello);
  ::unsetenv("REMOTECL_SHARED_MEMORY");
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->status, WelcomeStatus::kAccepted);
  EXPECT_EQ(welcome->features, 0u);
}

TEST_F(HandshakeTest, BulkConnectionNeedsSessionAndSecret) {
  WireClient client(address());
  Hello hello = hello_of(Role::kBulk);
  hello.session = client.welcome().session;
  hello.secret = connecting_proof(client.welcome().secret, hello);
  hello.secret[7] ^= 1;
  auto welcome = shake_hands(*connect(), hello);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->status, WelcomeStatus::kUnknownSession);
  hello.secret[7] ^= 1;
  hello.session ^= 1;
  welcome = shake_hands(*connect(), hello);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->status, WelcomeStatus::kUnknownSession);
  client.bulk();  // the right ones
  hello.session ^= 1;
  std::string text;
  welcome = shake_hands(*connect(), hello, &text);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->status, WelcomeStatus::kBusy) << "a second bulk connection";
  EXPECT_FALSE(text.empty());
  client.ping();
}

TEST_F(HandshakeTest, UnknownRoleIsClosed) {
  Hello hello = hello_of(static_cast<Role>(9));
  EXPECT_FALSE(shake_hands(*connect(), hello));
}

TEST_F(HandshakeTest, GarbageIsClosedWithoutEffect) {
  WireClient client(address());
  std::mt19937 random(7);
  SCOPED_TRACE("seed 7");
  for (int round = 0; round < 100; ++round) {
    const auto connection = connect();
    std::vector<std::byte> bytes(1 + random() % 300);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    bytes[0] = std::byte{'X'};
    connection->write(Bytes(bytes));
    std::byte answer;
    EXPECT_EQ(connection->read_some({&answer, 1}), 0u) << "garbage is not worth an answer";
  }
  client.ping();
  EXPECT_EQ(server_.sessions(), 1u);
}

TEST_F(HandshakeTest, TruncatedHelloHoldsNobodyUp) {
  const auto connection = connect();
  const auto bytes = encode_frame<Hello, kHelloSize>(hello_of(Role::kControl));
  connection->write(Bytes(bytes).first(20));
  WireClient client(address());
  client.ping();
  connection->shutdown();
  EXPECT_TRUE(eventually([&] { return server_.connections() == 1; }));
}

TEST_F(HandshakeTest, ManyUnfinishedHandshakesAreBounded) {
  std::vector<std::unique_ptr<Connection>> connections;
  for (int i = 0; i < 80; ++i) connections.push_back(connect());
  std::array<std::byte, kWelcomeSize> bytes;
  connections.back()->set_read_timeout(std::chrono::seconds(5));
  ASSERT_TRUE(connections.back()->read_exactly(bytes));
  EXPECT_EQ(decode_frame<Welcome>(bytes).status, WelcomeStatus::kBusy);
  connections.clear();
  EXPECT_TRUE(eventually([&] { return server_.connections() == 0; }));
  WireClient client(address());
  client.ping();
}

TEST_F(HandshakeTest, MemoryStaysFlatOverManyConnects) {
  const auto visit = [this](int count) {
    for (int i = 0; i < count; ++i) {
      WireClient client(address());
      const ObjectId queue = client.make_queue();
      const ObjectId buffer = client.make_buffer(1 << 20);
      client.write<int>(queue, buffer, std::vector<int>(16, i));
      client.finish(queue);
    }
    ASSERT_TRUE(eventually([&] { return server_.connections() == 0; }));
  };
#ifdef __SANITIZE_ADDRESS__
  constexpr std::size_t kGrowthKibMax = 100 * 1024;  // it keeps freed memory for a while
#else
  constexpr std::size_t kGrowthKibMax = 16 * 1024;
#endif
  visit(50);
  const std::size_t before = resident_kib();
  visit(200);
  EXPECT_LT(resident_kib(), before + kGrowthKibMax) << "200 sessions with a MiB each must leave nothing behind";
}

TEST_F(HandshakeTest, StopEndsSessionsWithLastWords) {
  WireClient client(address());
  EXPECT_TRUE(server_.stop(std::chrono::seconds(5)));
  expect_session_error(client, "shutting down");
}

TEST(ServerStart, PortInUseAndUnknownDeviceAreExplained) {
  server::Server server(Address{"127.0.0.1", 0}, "all");
  try {
    server::Server second(server.address(), "all");
    FAIL() << "two servers on one port";
  } catch (const ConnectionError& error) {
    EXPECT_NE(std::string(error.what()).find(server.address().text()), std::string::npos) << error.what();
  }
  try {
    server::Server other(Address{"127.0.0.1", 0}, "0,no such device");
    FAIL() << "a device that does not exist";
  } catch (const server::NoDevice& error) {
    EXPECT_NE(std::string(error.what()).find(server.driver().device(0)->traits().name), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace remotecl::testing
