// A client that looks at a server which may say anything.
#include "runtime/client/session/monitor.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>

#include "fakes/wire/wire_server.h"

namespace remotecl::testing {
namespace {

// A server that welcomes one monitor, and answers its question as `answer` says.
class OneReply {
 public:
  explicit OneReply(std::function<void(Connection&)> reply) : listener_({"127.0.0.1", 0}) {
    thread_ = std::thread([this, reply = std::move(reply)] {
      const auto connection = listener_.accept();
      std::array<std::byte, kHelloSize> hello;
      std::array<std::byte, kMessageHeaderSize + sizeof(Token)> question;
      if (connection == nullptr || !connection->read_exactly(hello)) return;
      role_ = decode_frame<Hello>(hello).role;
      connection->write(Bytes(encode_frame<Welcome, kWelcomeSize>(WireServer::accepted())));
      if (connection->read_exactly(question)) reply(*connection);
    });
  }
  ~OneReply() {
    listener_.close();
    thread_.join();
  }
  Address address() const { return listener_.address(); }
  Role role() const { return role_; }

 private:
  tcp::Listener listener_;
  std::thread thread_;
  std::atomic<Role> role_{Role::kControl};
};

template <class Message>
void say(Connection& connection, const Message& message) {
  ByteBuffer out;
  append_message(out, message);
  connection.write(out.bytes());
}

std::string complaint_about(std::function<void(Connection&)> reply) {
  const OneReply server(std::move(reply));
  Monitor monitor({server.address(), {}});
  try {
    monitor.ask();
  } catch (const ConnectionError& error) {
    return error.what();
  }
  return "none";
}

TEST(MonitorTest, AsksAndIsAnswered) {
  const OneReply server([](Connection& connection) {
    Status status{};
    status.token = 1;
    status.version = "9.9";
    say(connection, status);
  });
  Monitor monitor({server.address(), {}});
  const StatusReply reply = monitor.ask();
  EXPECT_EQ(reply.status.version, "9.9");
  EXPECT_TRUE(reply.rdma.sessions.empty()) << "the server knows nothing of it";
  EXPECT_GT(reply.round_trip_us, 0);
  EXPECT_EQ(server.role(), Role::kMonitor);
}

// `rdma`: the bytes after the Status.
StatusReply reply_with(Bytes rdma) {
  const OneReply server([rdma](Connection& connection) {
    Status status{};
    status.token = 1;
    status.version = "9.9";
    ByteBuffer out;
    const auto size = static_cast<std::uint32_t>(wire::encoded_size(status));
    std::byte* at = out.extend(kMessageHeaderSize + size);
    wire::encode(at, MessageHeader{size + static_cast<std::uint32_t>(rdma.size()), Status::kCode, 0});
    wire::encode(at, status);
    connection.write(out.bytes(), rdma);
  });
  return Monitor({server.address(), {}}).ask();
}

TEST(MonitorTest, WhatFollowsTheStatusIsAboutRdma) {
  const RdmaStatus sessions[] = {{3, "", "mlx5_0:1", "10.0.0.1", "10.0.0.2", {1, 2, 3, 4}}};
  const StatusRdma sent{{1, 2, 3, 4}, {}, std::span<const RdmaStatus>(sessions), {}};
  std::vector<std::byte> bytes(wire::encoded_size(sent));
  std::byte* at = bytes.data();
  wire::encode(at, sent);
  const StatusReply reply = reply_with(bytes);
  EXPECT_EQ(reply.status.version, "9.9");
  EXPECT_EQ(reply.rdma.clients.bytes_received, 4u);
  ASSERT_EQ(reply.rdma.sessions.size(), 1u);
  reply.rdma.sessions.for_each([](const RdmaStatus& seen) {
    EXPECT_EQ(seen.state, 3u);
    EXPECT_EQ(seen.port, "mlx5_0:1");
    EXPECT_EQ(seen.traffic.losses, 2u);
  });
}

TEST(MonitorTest, NonsenseAboutRdmaLeavesTheStatusRight) {
  const StatusReply reply = reply_with(std::vector<std::byte>(77, std::byte{0xff}));
  EXPECT_EQ(reply.status.version, "9.9");
  EXPECT_TRUE(reply.rdma.sessions.empty());
  EXPECT_EQ(reply.rdma.clients.channels, 0u);
}

TEST(MonitorTest, WhateverElseComesIsAnError) {
  EXPECT_NE(complaint_about([](Connection&) {}).find("lost 127.0.0.1"), std::string::npos);
  EXPECT_NE(complaint_about([](Connection& connection) { say(connection, Pong{1}); }).find("malformed"),
            std::string::npos);
  EXPECT_NE(complaint_about([](Connection& connection) { say(connection, Status{}); }).find("malformed"),
            std::string::npos)
      << "another question's token";
  EXPECT_NE(complaint_about([](Connection& connection) { say(connection, SessionError{"go away"}); }).find("go away"),
            std::string::npos);
  const auto huge = [](Connection& connection) {
    connection.write(Bytes(encode_frame<MessageHeader, kMessageHeaderSize>({0xFFFFFFFF, Code::kStatus, 0})));
  };
  EXPECT_NE(complaint_about(huge).find("impossible size"), std::string::npos);
  const auto cut = [](Connection& connection) {
    connection.write(Bytes(encode_frame<MessageHeader, kMessageHeaderSize>({100, Code::kStatus, 0})));
  };
  EXPECT_NE(complaint_about(cut).find("lost"), std::string::npos);
}

TEST(MonitorTest, NobodyThere) { EXPECT_THROW(Monitor({{"127.0.0.1", 1}, {}}), ConnectionError); }

}  // namespace
}  // namespace remotecl::testing
