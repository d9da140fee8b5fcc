// What a peer that breaks the protocol gets: last words, and the end of its own session only.
#include <random>

#include "server/fixture.h"

namespace remotecl::testing {
namespace {

class ProtocolErrorTest : public CommandTest {
 protected:
  void send_raw(std::uint32_t size, std::uint16_t code, Bytes payload) {
    const auto header = encode_frame<MessageHeader, kMessageHeaderSize>({size, code, 0});
    client_.control().write(header, payload);
  }
  WireClient bystander_{address()};
  void TearDown() override { bystander_.ping(); }
};

TEST_F(ProtocolErrorTest, UnknownCode) {
  send_raw(0, 999, {});
  expect_session_error(client_, "999");
}

TEST_F(ProtocolErrorTest, ReportFromTheClient) {
  send_raw(8, Code::kPong, std::vector<std::byte>(8));
  expect_session_error(client_, "not known");
}

TEST_F(ProtocolErrorTest, OversizeLength) {
  send_raw(kMessageSizeMax + 1, Code::kPing, {});
  expect_session_error(client_, "longer than");
}

TEST_F(ProtocolErrorTest, TruncatedMessage) {
  send_raw(3, Code::kPing, std::vector<std::byte>(3));
  expect_session_error(client_, "Ping");
}

TEST_F(ProtocolErrorTest, TrailingBytes) {
  send_raw(9, Code::kPing, std::vector<std::byte>(9));
  expect_session_error(client_, "Ping");
}

TEST_F(ProtocolErrorTest, ConnectionCutInsideAMessage) {
  send_raw(1000, Code::kCreateProgramWithSource, std::vector<std::byte>(10));
  client_.control().shutdown();
  EXPECT_TRUE(eventually([&] { return server_.sessions() == 1; }));
}

TEST_F(ProtocolErrorTest, UnknownQueue) {
  client_.send(Finish{12345, 1});
  expect_session_error(client_, "queue 12345");
}

TEST_F(ProtocolErrorTest, UnknownDevice) {
  client_.send(CreateQueue{client_.id(), 77, 0});
  expect_session_error(client_, "device 77");
}

TEST_F(ProtocolErrorTest, SubDeviceWithTheIndexOfAnother) {
  const std::int64_t properties[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  const std::uint32_t indices[] = {5, 0};
  client_.send(CreateSubDevices{0, 1, Array(properties, 3), Array(indices, 2)});
  expect_session_error(client_, "device index 0");
}

TEST_F(ProtocolErrorTest, SubDevicesThatShareAnIndex) {
  const std::int64_t properties[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  const std::uint32_t indices[] = {5, 5};
  client_.send(CreateSubDevices{0, 1, Array(properties, 3), Array(indices, 2)});
  expect_session_error(client_, "device index 5");
}

TEST_F(ProtocolErrorTest, ReleaseOfADeviceThatIsNoPart) {
  client_.send(ReleaseSubDevice{0});
  expect_session_error(client_, "sub-device 0");
}

TEST_F(ProtocolErrorTest, PropertiesWithoutAnEndAreNoReadPastThem) {
  const std::int64_t properties[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1};
  client_.send(CreateSubDevices{0, 1, Array(properties, 2), {}});
  EXPECT_EQ(client_.wait<SubDevices>()->token, 1u);
}

TEST_F(ProtocolErrorTest, IdsUsedTwice) {
  client_.send(CreateBuffer{buffer_, 1, 4});
  expect_session_error(client_, std::to_string(buffer_));
}

TEST_F(ProtocolErrorTest, EventIdUsedTwice) {
  const EventId event = client_.id();
  add(1, event);
  add(1, event);
  client_.flush();
  expect_session_error(client_, std::to_string(event));
}

TEST_F(ProtocolErrorTest, EventIdOfTheServersOwnRange) {
  add(1, EventId{1} << 63);
  client_.flush();
  expect_session_error(client_, "event id");
}

TEST_F(ProtocolErrorTest, InlineDataOfAnotherSize) {
  const int value = 1;
  client_.send(EnqueueWrite{queue_, 0, buffer_, 0, 8, 0, std::as_bytes(std::span(&value, 1)), {}});
  expect_session_error(client_, "8 bytes");
}

TEST_F(ProtocolErrorTest, BulkDataThatWasNotPulled) {
  const auto header = encode_frame<BulkHeader, kBulkHeaderSize>({42, 16, 0});
  client_.bulk().write(header);
  expect_session_error(client_, "42");
}

TEST_F(ProtocolErrorTest, MoreBulkDataThanAnnounced) {
  const ObjectId buffer = client_.make_buffer(1 << 20);
  const TransferId transfer = client_.id();
  client_.bulk();
  client_.send(EnqueueWrite{queue_, client_.id(), buffer, 0, 1000, transfer, {}, {}});
  client_.wait<PullTransfer>();
  client_.bulk().write(encode_frame<BulkHeader, kBulkHeaderSize>({transfer, 1001, 0}));
  expect_session_error(client_, "1001");
}

TEST_F(ProtocolErrorTest, BulkConnectionLost) {
  client_.bulk().shutdown();
  expect_session_error(client_, "bulk connection");
}

TEST_F(ProtocolErrorTest, HeaderPathThatLeavesTheFolder) {
  const std::uint32_t device = 0;
  for (const std::string_view path : {"/tmp/../../etc/evil.h", "relative.h"}) {
    WireClient client(address());
    const ObjectId program = client.id();
    client.add(CreateProgramWithSource{program, as_bytes("kernel void f() {}")});
    const HeaderFile header{path, as_bytes("x")};
    client.send(BuildProgram{program, 1, Array<std::uint32_t>(&device, 1), {}, {}, std::span(&header, 1)});
    expect_session_error(client, std::string(path));
  }
}

TEST_F(ProtocolErrorTest, RandomMessagesNeverStopTheServer) {
  std::mt19937 random(11);
  SCOPED_TRACE("seed 11");
  constexpr std::uint16_t kCodes[] = {1,  10, 11, 12, 13, 14, 20, 21, 24, 25, 26, 40, 41,
                                      42, 43, 44, 45, 46, 47, 48, 60, 61, 62, 63, 64};
  const std::size_t before = resident_kib();
  for (int round = 0; round < 100; ++round) {
    const auto connection = connect();
    ASSERT_TRUE(shake_hands(*connection, hello_of(Role::kControl)));
    for (int message = 0; message < 5; ++message) {
      std::vector<std::byte> payload(random() % 200);
      for (auto& byte : payload) byte = static_cast<std::byte>(random() % 4 == 0 ? random() : 0);
      const std::uint16_t code = kCodes[random() % std::size(kCodes)];
      connection->write(
          encode_frame<MessageHeader, kMessageHeaderSize>({static_cast<std::uint32_t>(payload.size()), code, 0}),
          payload);
    }
    connection->shutdown();
  }
  EXPECT_TRUE(eventually([&] { return server_.sessions() == 2; }));
  EXPECT_LT(resident_kib(), before + 64 * 1024);
}

}  // namespace
}  // namespace remotecl::testing
