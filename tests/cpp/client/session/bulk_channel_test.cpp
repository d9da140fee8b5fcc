// Several channels of one session: who reads them, and what a server that means harm can do with them.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "client/session/channel_fixture.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

class BulkChannelTest : public ChannelTest {
 protected:
  static constexpr std::size_t kSize = 3u << 20;

  BulkChannelTest() : ChannelTest(2) {}

  TransferRef begin_receive(std::uint32_t device, std::vector<std::byte>& memory) {
    return session_->begin_receive(device, memory.data(), memory.size(), note_end(), nullptr);
  }

  const std::vector<std::byte> bytes_ = std::vector<std::byte>(kSize, std::byte{0x5a});
};

// A chunk of which a part is missing holds up its own channel and nothing else.
TEST_F(BulkChannelTest, OneIsReadWhileAnotherOneHasNothing) {
  std::vector<std::byte> first(kSize), second(kSize), third(kSize);
  const TransferRef slow = begin_receive(0, first);
  const TransferRef fast = begin_receive(1, second);
  const TransferRef next = begin_receive(3, third);
  begin_chunk(0, slow->id, kSize, Bytes(bytes_).first(1000));
  send_chunk(1, fast->id, bytes_);
  send_chunk(1, next->id, bytes_);
  ASSERT_TRUE(await(fast, next));
  EXPECT_FALSE(slow->ended());
  EXPECT_EQ(second, bytes_);
  EXPECT_EQ(third, bytes_);
  channel(0).write(Bytes(bytes_).subspan(1000));
  ASSERT_TRUE(await(slow));
  EXPECT_EQ(first, bytes_);
}

// Without a thread of its own the second one would wait until the end of the first one's transfer was reported.
TEST_F(BulkChannelTest, SeveralAreReadAtTheSameTime) {
  std::vector<std::byte> first(kSize), second(kSize);
  std::promise<void> begun, other_ended;
  const auto wait = [&](cl_int) {
    begun.set_value();
    EXPECT_EQ(other_ended.get_future().wait_for(20s), std::future_status::ready);
  };
  const TransferRef one = session_->begin_receive(0, first.data(), kSize, wait, nullptr);
  const TransferRef other = session_->begin_receive(
      1, second.data(), kSize, [&](cl_int) { other_ended.set_value(); }, nullptr);
  std::thread server([&] {
    send_chunk(0, one->id, bytes_);
    begun.get_future().wait();
    send_chunk(1, other->id, bytes_);
  });
  EXPECT_TRUE(await(one, other));
  server.join();
  EXPECT_EQ(first, bytes_);
  EXPECT_EQ(second, bytes_);
}

// Whoever waits reads all channels again when nothing is expected on others any more.
TEST_F(BulkChannelTest, EachIsReadAgainAndAgain) {
  for (int round = 0; round < 100; ++round) {
    std::vector<std::byte> first(100'000), second(100'000);
    const TransferRef one = begin_receive(0, first);
    const TransferRef other = begin_receive(1, second);
    send_chunk(0, one->id, Bytes(bytes_).first(first.size()));
    send_chunk(1, other->id, Bytes(bytes_).first(second.size()));
    ASSERT_TRUE(await(one, other));
    std::vector<std::byte> third(100'000);
    const TransferRef alone = begin_receive(round, third);
    send_chunk(static_cast<std::size_t>(round) % 2, alone->id, Bytes(bytes_).first(third.size()));
    ASSERT_TRUE(await(alone));
    ASSERT_EQ(third.back(), bytes_.back());
  }
  EXPECT_EQ(session_->traffic().bulk_received, 300u);
}

TEST_F(BulkChannelTest, BytesOnAnothersChannelEndTheSession) {
  std::vector<std::byte> memory(kSize);
  const TransferRef read = begin_receive(0, memory);
  send_chunk(1, read->id, bytes_);
  EXPECT_TRUE(becomes_lost());
  EXPECT_EQ(ended(1), 1);
  EXPECT_EQ(memory, std::vector<std::byte>(kSize));
}

TEST_F(BulkChannelTest, TheEndOfOneThatAnotherThreadReadsEndsTheSession) {
  std::vector<std::byte> first(kSize), second(kSize);
  begin_receive(0, first);
  begin_receive(1, second);
  channel(1).shutdown();
  EXPECT_TRUE(becomes_lost());
  EXPECT_EQ(ended(2), 2);
}

// While another thread takes its bytes.
TEST_F(BulkChannelTest, ReadThatFailsGetsNoMoreBytes) {
  std::vector<std::byte> first(kSize), second(kSize);
  begin_receive(0, first);
  const TransferRef failing = begin_receive(1, second);
  begin_chunk(1, failing->id, kSize, Bytes(bytes_).first(1000));
  while (failing->moved != 1000) std::this_thread::yield();
  server_.send(CommandFailed{1, 2, -5, failing->id});
  ASSERT_TRUE(await(failing));
  EXPECT_EQ(failing->failure, -5);
  std::vector<std::byte> third(kSize);
  const TransferRef next = begin_receive(1, third);
  channel(1).write(Bytes(bytes_).subspan(1000));
  send_chunk(1, next->id, bytes_);
  ASSERT_TRUE(await(next));
  EXPECT_EQ(third, bytes_);
  EXPECT_EQ(second[1000], std::byte{});
}

// Control is read ahead of a channel that is behind.
TEST_F(BulkChannelTest, BytesOfAReadThatHasFailedAreThrownAway) {
  std::vector<std::byte> first(kSize), second(kSize), third(kSize);
  const TransferRef partly = begin_receive(1, first), whole = begin_receive(1, second);
  server_.send(CommandFailed{1, 0, -5, partly->id});
  server_.send(CommandFailed{1, 0, -5, whole->id});
  ASSERT_TRUE(await(partly, whole));
  const TransferRef next = begin_receive(1, third);
  send_chunk(1, partly->id, Bytes(bytes_).first(100'000));
  send_chunk(1, partly->id, Bytes(bytes_).first(100'000));
  send_failure(1, partly->id, -5);
  send_chunk(1, whole->id, bytes_);
  send_chunk(1, next->id, bytes_);
  ASSERT_TRUE(await(next));
  EXPECT_EQ(third, bytes_);
  EXPECT_EQ(first, std::vector<std::byte>(kSize));
  EXPECT_EQ(second, std::vector<std::byte>(kSize));
  EXPECT_FALSE(session_->lost());
}

TEST_F(BulkChannelTest, BytesAfterTheEndOfAReadThatHasFailedEndTheSession) {
  std::vector<std::byte> memory(kSize);
  const TransferRef failed = begin_receive(1, memory);
  server_.send(CommandFailed{1, 0, -5, failed->id});
  ASSERT_TRUE(await(failed));
  send_failure(1, failed->id, -5);
  send_chunk(1, failed->id, Bytes(bytes_).first(1000));
  EXPECT_TRUE(becomes_lost());
}

TEST_F(BulkChannelTest, NoChannelMayBeNamedThatIsNotThere) {
  server_.send(ServerReceived{StreamKind::kBulk, 2, 0});
  EXPECT_TRUE(becomes_lost());
}

TEST_F(BulkChannelTest, PushesOfNoChannelCannotHaveBeenTaken) {
  server_.send(PushesTaken{7, 0});
  EXPECT_TRUE(becomes_lost());
}

// As by a server that does the handshakes of many clients at a time.
TEST_F(BulkChannelTest, OneThatIsRefusedForAWhileIsTriedAgain) {
  WireServer busy;
  busy.welcome_channels(2, 5);
  Session session(group_, ServerName{busy.address(), {}}, 0);
  busy.ready();
  EXPECT_FALSE(session.lost());
}

}  // namespace
}  // namespace remotecl::testing
