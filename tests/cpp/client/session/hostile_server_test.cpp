// What a client does with a server that is none, is another version, or means harm.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "fakes/wire/wire_server.h"
#include "runtime/client/session/session.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::string refusal(const Address& address) {
  try {
    SessionGroup group;
    Session session(group, {address, {}}, 0);
  } catch (const ConnectionError& error) {
    return error.what();
  }
  return "";
}

TEST(Handshake, SilentServerIsGivenUpAfterItsTime) {
  WireServer server;
  server.stay_silent();
  const auto begin = Clock::now();
  const std::string text = refusal(server.address());
  const auto took = Clock::now() - begin;
  EXPECT_NE(text.find(server.address().text()), std::string::npos) << text;
  EXPECT_NE(text.find("another program"), std::string::npos) << text;
  EXPECT_GE(took, std::chrono::milliseconds(kFirstWordTimeoutMs) - 100ms);
  EXPECT_LT(took, std::chrono::milliseconds(kFirstWordTimeoutMs) + 3s);
}

TEST(Handshake, OtherProgramIsNamedAsThat) {
  WireServer server;
  Welcome welcome = WireServer::accepted();
  welcome.magic[0] ^= 1;
  server.welcome_both(welcome);
  EXPECT_NE(refusal(server.address()).find("not a remotecl-server"), std::string::npos);
}

TEST(Handshake, OtherVersionIsNamedWithTheRemedy) {
  WireServer server;
  Welcome welcome = WireServer::accepted();
  welcome.status = WelcomeStatus::kVersionMismatch;
  welcome.version = 77;
  server.welcome_both(welcome, "no");
  const std::string text = refusal(server.address());
  EXPECT_NE(text.find("77"), std::string::npos) << text;
  EXPECT_NE(text.find("install"), std::string::npos) << text;
}

TEST(Handshake, RefusalIsPassedOn) {
  WireServer server;
  Welcome welcome = WireServer::accepted();
  welcome.status = WelcomeStatus::kBusy;
  server.welcome_both(welcome, "come back later");
  EXPECT_NE(refusal(server.address()).find("come back later"), std::string::npos);
}

// A server of which nothing else is right, in the course of one handshake with a token.
class ImpostorTest : public ::testing::Test {
 protected:
  ~ImpostorTest() override { server_.join(); }
  void serve(std::function<void(Connection&)> behaviour) {
    server_ = std::thread([this, behaviour = std::move(behaviour)] {
      const auto connection = listener_.accept();
      std::array<std::byte, kHelloSize> hello;
      if (connection->read_exactly(hello)) behaviour(*connection);
    });
  }
  static void say(Connection& connection, WelcomeStatus status) {
    Welcome welcome = WireServer::accepted();
    welcome.status = status;
    welcome.features = kFeatureToken;
    connection.write(Bytes(encode_frame<Welcome, kWelcomeSize>(welcome)));
  }
  std::string refusal() {
    const auto connection = tcp::connect(listener_.address(), 5s);
    const AccessToken token("a token of many characters", "a test");
    try {
      handshake_with_server(*connection, listener_.address(), &token);
    } catch (const ConnectionError& error) {
      return error.what();
    }
    return "";
  }

  tcp::Listener listener_{{"127.0.0.1", 0}};
  std::thread server_;
};

TEST_F(ImpostorTest, MayNotAcceptWithoutAskingForAProof) {
  serve([](Connection& connection) { say(connection, WelcomeStatus::kAccepted); });
  EXPECT_NE(refusal().find("without knowing the token"), std::string::npos);
}

TEST_F(ImpostorTest, MayNotAcceptWithoutAProofOfItsOwn) {
  serve([](Connection& connection) {
    say(connection, WelcomeStatus::kProve);
    Proof proof;
    connection.read_exactly(std::as_writable_bytes(std::span(proof)));
    say(connection, WelcomeStatus::kAccepted);
  });
  EXPECT_NE(refusal().find("without knowing the token"), std::string::npos);
}

TEST_F(ImpostorTest, MayNotAskForOneProofAfterTheOther) {
  serve([](Connection& connection) {
    say(connection, WelcomeStatus::kProve);
    Proof proof;
    connection.read_exactly(std::as_writable_bytes(std::span(proof)));
    say(connection, WelcomeStatus::kProve);
  });
  EXPECT_NE(refusal().find("without knowing the token"), std::string::npos);
}

TEST_F(ImpostorTest, WordsCannotControlATerminal) {
  serve([](Connection& connection) {
    const std::string text = "\x1b[2Jgone\r\n\x7f";
    Welcome welcome = WireServer::accepted();
    welcome.status = WelcomeStatus::kBusy;
    welcome.text_size = static_cast<std::uint32_t>(text.size());
    connection.write(Bytes(encode_frame<Welcome, kWelcomeSize>(welcome)), std::as_bytes(std::span(text)));
  });
  const std::string words = refusal();
  EXPECT_NE(words.find("\\x1b[2Jgone\\x0d\\x0a\\x7f"), std::string::npos) << words;
}

// Each byte comes in time, the whole of them does not.
TEST_F(ImpostorTest, SlowServerIsGivenUpAfterItsTime) {
  serve([](Connection& connection) {
    const std::byte byte{'r'};
    while (connection.write({&byte, 1})) std::this_thread::sleep_for(200ms);
  });
  const auto begin = Clock::now();
  EXPECT_NE(refusal(), "");
  EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(kFirstWordTimeoutMs) + 3s);
}

class HostileServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("REMOTECL_LOG", "off", 1);  // the losses are meant
    server_.welcome_both(WireServer::accepted());
    session_ = std::make_unique<Session>(group_, ServerName{server_.address(), {}}, 0);
    server_.ready();
    session_->add_interest();  // it reads though nobody waits
  }
  bool becomes_lost(std::chrono::milliseconds within = 2s) {
    const auto end = Clock::now() + within;
    while (!session_->lost() && Clock::now() < end) std::this_thread::sleep_for(1ms);
    return session_->lost();
  }
  void send_raw(std::uint32_t size, std::uint16_t code, Bytes payload) {
    server_.control->write(Bytes(encode_frame<MessageHeader, kMessageHeaderSize>(MessageHeader{size, code, 0})),
                           payload);
  }
  void send_chunk(TransferId transfer, std::uint32_t size) {
    const std::vector<std::byte> bytes(size, std::byte{0x5a});
    server_.bulk->write(Bytes(encode_frame<BulkHeader, kBulkHeaderSize>(BulkHeader{transfer, size, 0})), bytes);
  }
  // The client has received so many bytes of the chunk when this returns.
  void send_part_of_chunk(const ClientTransfer& transfer, std::uint32_t size, std::size_t part) {
    const std::vector<std::byte> bytes(part, std::byte{0x5a});
    server_.bulk->write(Bytes(encode_frame<BulkHeader, kBulkHeaderSize>(BulkHeader{transfer.id, size, 0})), bytes);
    while (transfer.moved != part) std::this_thread::yield();
  }

  WireServer server_;
  SessionGroup group_;
  std::unique_ptr<Session> session_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(1u << 17, std::byte{0x11});
  std::atomic<int> ended_{0};
  std::function<void(cl_int)> count_ = [this](cl_int) { ++ended_; };
};

TEST_F(HostileServerTest, WhatIsUnknownButHarmlessIsIgnored) {
  server_.send(EventDone{4711, 0, 0, {}});
  server_.send(CommandFailed{1, 2, -5, 3});
  server_.send(PullTransfer{99});
  server_.send(Finished{5});
  server_.send(ReadData{98, Bytes(memory_).first(16)});
  EXPECT_FALSE(becomes_lost(100ms));
}

class UnknownMessageTest : public HostileServerTest, public ::testing::WithParamInterface<std::uint16_t> {};

TEST_P(UnknownMessageTest, EndsTheSession) {
  send_raw(static_cast<std::uint32_t>(memory_.size()), GetParam(), memory_);
  EXPECT_TRUE(becomes_lost());
  const std::string reason = "unknown message (" + std::to_string(GetParam()) + ")";
  EXPECT_NE(session_->lost_reason().find(reason), std::string::npos) << session_->lost_reason();
}

// Numbers around those of the reports, messages to a server, and reports that a session that goes on does not take.
INSTANTIATE_TEST_SUITE_P(Codes, UnknownMessageTest,
                         ::testing::Values(0, 999, 1005, 1127, 1128, 60000, Code::kPing, Code::kPeerSignal,
                                           Code::kDeviceList, Code::kSessionKicked));

TEST_F(HostileServerTest, ReplyWithoutAWholeTokenEndsTheSession) {
  send_raw(7, Code::kFinished, Bytes(memory_).first(7));
  EXPECT_TRUE(becomes_lost());
  EXPECT_NE(session_->lost_reason().find("malformed Finished"), std::string::npos) << session_->lost_reason();
}

TEST_F(HostileServerTest, MessageThatIsTooShortEndsTheSession) {
  send_raw(3, Code::kEventDone, Bytes(memory_).first(3));
  EXPECT_TRUE(becomes_lost());
  EXPECT_NE(session_->lost_reason().find("EventDone"), std::string::npos) << session_->lost_reason();
}

TEST_F(HostileServerTest, MessageThatIsTooLongCostsNothing) {
  send_raw(0xffffffff, Code::kReadData, {});
  EXPECT_TRUE(becomes_lost());
}

TEST_F(HostileServerTest, ReadOfAnotherSizeTouchesNothing) {
  session_->begin_receive(0, memory_.data(), 16, count_, nullptr);
  const TransferRef read = session_->begin_receive(0, memory_.data(), 16, count_, nullptr);
  server_.send(ReadData{read->id, Bytes(memory_).first(64)});
  EXPECT_TRUE(becomes_lost());
  EXPECT_EQ(ended_, 2) << "both readers learn of it";
  EXPECT_EQ(memory_, std::vector<std::byte>(1u << 17, std::byte{0x11}));
}

TEST_F(HostileServerTest, ServerCannotWriteToWhatTheClientSends) {
  const TransferRef write = session_->begin_send(0, memory_.data(), memory_.size(), count_, nullptr);
  server_.send(ReadData{write->id, Bytes(std::vector<std::byte>(memory_.size()))});
  EXPECT_FALSE(becomes_lost(100ms));
  send_chunk(write->id, 4096);
  EXPECT_TRUE(becomes_lost());
  EXPECT_EQ(memory_, std::vector<std::byte>(1u << 17, std::byte{0x11}));
}

TEST_F(HostileServerTest, ServerCannotReadWhereTheClientReceives) {
  const TransferRef read = session_->begin_receive(0, memory_.data(), memory_.size(), count_, nullptr);
  server_.send(PullTransfer{read->id});
  server_.bulk->set_read_timeout(300ms);
  std::byte byte;
  EXPECT_EQ(server_.bulk->read_some({&byte, 1}), 0u);
}

// The application gets its memory back at the end of the transfer, and the sending thread reads it until then.
TEST_F(HostileServerTest, APushedWriteThatHasFailedEndsWhenItsBytesHaveLeft) {
  ASSERT_TRUE(session_->take_push(0, memory_.size(), false));
  const TransferRef write = session_->begin_push(0, memory_.data(), memory_.size(), count_, false, false);
  server_.send(CommandFailed{0, 0, CL_OUT_OF_RESOURCES, write->id});
  EXPECT_FALSE(becomes_lost(100ms));
  EXPECT_EQ(ended_, 0);
  write->channel->sender().post(write);
  std::vector<std::byte> sent(kBulkHeaderSize + memory_.size());
  ASSERT_TRUE(server_.bulk->read_exactly(sent));
  EXPECT_TRUE(std::equal(memory_.begin(), memory_.end(), sent.begin() + kBulkHeaderSize));
  const auto end = Clock::now() + 5s;
  while (ended_ == 0 && Clock::now() < end) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(ended_, 1);
}

TEST_F(HostileServerTest, ChunksPastTheEndTouchNothing) {
  const TransferRef read = session_->begin_receive(0, memory_.data(), 4096, count_, nullptr);
  send_chunk(read->id, 4000);
  send_chunk(read->id, 97);
  EXPECT_TRUE(becomes_lost());
  EXPECT_EQ(memory_[4000], std::byte{0x11});
}

TEST_F(HostileServerTest, ReadCannotBecomeShorterThanAChunkThatHasBegun) {
  const TransferRef read = session_->begin_receive(0, memory_.data(), 4096, count_, nullptr);
  read->may_be_short = true;
  send_part_of_chunk(*read, 2000, 1000);
  server_.send(TransferSize{read->id, 1000});
  EXPECT_TRUE(becomes_lost());
  EXPECT_EQ(memory_[1000], std::byte{0x11});
}

TEST_F(HostileServerTest, ReadThatFailsWithinAChunkGetsNoMoreOfIt) {
  const TransferRef read = session_->begin_receive(0, memory_.data(), 4096, count_, nullptr);
  send_part_of_chunk(*read, 2000, 1000);
  server_.send(CommandFailed{1, 2, -5, read->id});
  while (ended_ == 0) std::this_thread::yield();
  const std::vector<std::byte> rest(1000, std::byte{0x5a});
  server_.bulk->write(rest);
  EXPECT_FALSE(becomes_lost(100ms)) << "the server may have sent the chunk before it failed";
  EXPECT_EQ(memory_[1000], std::byte{0x11});
}

TEST_F(HostileServerTest, LastWordsCannotControlATerminal) {
  server_.send(SessionError{"\x1b[2Jgone\xc2\x9b"});
  EXPECT_TRUE(becomes_lost());
  EXPECT_NE(session_->lost_reason().find("\\x1b[2Jgone\\x9b"), std::string::npos) << session_->lost_reason();
}

TEST_F(HostileServerTest, ChunkForNobodyEndsTheSession) {
  send_chunk(12345, 8);
  EXPECT_TRUE(becomes_lost());
}

// Whatever comes: the session goes on or is lost, and whoever waits is told.
TEST(HostileServer, RandomMessages) {
  ::setenv("REMOTECL_LOG", "off", 1);
  std::mt19937 random(20);
  for (int round = 0; round < 60; ++round) {
    WireServer server;
    server.welcome_both(WireServer::accepted());
    SessionGroup group;
    Session session(group, {server.address(), {}}, 0);
    server.ready();
    std::vector<std::byte> memory(256);
    std::atomic<int> ended{0};
    const auto read = session.begin_receive(
        0, memory.data(), memory.size(),
        [&](cl_int) {
          ++ended;
          ended.notify_all();
        },
        nullptr);
    for (int i = 0; i < 50; ++i) {
      static constexpr std::uint16_t kCodes[] = {Code::kPong,     Code::kBuildDone,    Code::kProgramBinary,
                                                 Code::kFinished, Code::kEventDone,    Code::kCommandFailed,
                                                 Code::kReadData, Code::kPullTransfer, Code::kDeviceList};
      std::vector<std::byte> payload(random() % 64);
      for (auto& byte : payload) byte = static_cast<std::byte>(random() % 4 == 0 ? random() : 0);
      if (payload.size() >= 8 && random() % 2 == 0) std::memcpy(payload.data(), &read->id, 8);
      const auto header =
          MessageHeader{static_cast<std::uint32_t>(payload.size()), kCodes[random() % std::size(kCodes)], 0};
      server.control->write(Bytes(encode_frame<MessageHeader, kMessageHeaderSize>(header)), payload);
    }
    server.control->shutdown();
    session.wait([&] { return false; });
    EXPECT_TRUE(session.lost());
    ended.wait(0);  // the thread that has noticed the loss ends it
    EXPECT_EQ(ended, 1) << "round " << round;
  }
}

}  // namespace
}  // namespace remotecl::testing
