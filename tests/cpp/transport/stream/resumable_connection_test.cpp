// A stream that goes on over one connection after another, whenever and wherever the former one breaks.
#include "runtime/transport/stream/resumable_connection.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <functional>
#include <future>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/transport/tcp/loopback.h"

namespace remotecl {
namespace {

using namespace std::chrono_literals;

// Both ends of a stream, and what a client and a server do to carry it on.
class Stream {
 public:
  explicit Stream(std::chrono::milliseconds window = 30s) {
    auto [near, far] = loopback::make_pair();
    near_carrier = std::move(near);
    far_carrier = std::move(far);
    const auto end = [this, window](std::shared_ptr<Connection> carrier, std::unique_ptr<ResumableConnection>& other) {
      return std::make_unique<ResumableConnection>(
          std::move(carrier), window,
          ResumableConnection::Hooks{
              [this] {
                if (const auto act = std::exchange(at_loss, nullptr)) act();
              },
              [this, &other](std::uint64_t received) { EXPECT_TRUE(!acknowledges || other->acknowledged(received)); },
              [this] { return hopeless.load(); }});
    };
    near_end = end(near_carrier, far_end);
    far_end = end(far_carrier, near_end);
  }

  bool carry_on() {
    const auto near_attempt = near_end->detach();
    const auto far_attempt = far_end->detach();
    auto [near, far] = loopback::make_pair();
    near_carrier = std::move(near);
    far_carrier = std::move(far);
    // Either may have to wait until the other one reads.
    auto first = std::async(std::launch::async,
                            [&] { return near_end->resume(near_attempt, near_carrier, far_attempt.received); });
    const bool second = far_end->resume(far_attempt, far_carrier, near_attempt.received);
    return first.get() && second;
  }

  std::unique_ptr<ResumableConnection> near_end, far_end;
  std::shared_ptr<Connection> near_carrier, far_carrier;
  std::atomic<bool> hopeless{false};
  std::atomic<bool> acknowledges{true};
  std::function<void()> at_loss;  // once
};

std::byte byte_at(std::uint64_t position) { return static_cast<std::byte>((position * 2654435761u) >> 13); }

std::string read_text(Connection& connection, std::size_t size) {
  std::string text(size, '?');
  EXPECT_TRUE(connection.read_exactly(std::as_writable_bytes(std::span(text))));
  return text;
}

// The other side's first connection breaks at once, and its next one is faster than what still prepares for the first.
TEST(ResumableConnectionTest, AnAttemptThatComesLateDoesNotTakeTheReaderOffALaterOnesCarrier) {
  Stream stream;
  std::promise<void> is_leaving, goes_on;
  stream.at_loss = [&] {
    is_leaving.set_value();
    goes_on.get_future().wait();
  };
  auto late = std::async(std::launch::async, [&] { return stream.near_end->detach(); });
  is_leaving.get_future().wait();
  EXPECT_TRUE(stream.carry_on());
  EXPECT_TRUE(stream.far_end->write(as_bytes("first")));
  EXPECT_EQ(read_text(*stream.near_end, 5), "first");  // the reader has taken the carrier over
  goes_on.set_value();
  auto [carrier, other] = loopback::make_pair();
  EXPECT_FALSE(stream.near_end->resume(late.get(), std::move(carrier), 0));
  EXPECT_TRUE(stream.far_end->write(as_bytes("on")));
  pollfd wait{stream.near_end->wait_handle(), POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, 10'000), 1);
  EXPECT_EQ(read_text(*stream.near_end, 2), "on");
}

TEST(ResumableConnectionTest, PassesBytesOn) {
  Stream stream;
  EXPECT_TRUE(stream.near_end->write(as_bytes("there")));
  EXPECT_TRUE(stream.far_end->write(as_bytes("back")));
  EXPECT_EQ(read_text(*stream.far_end, 5), "there");
  EXPECT_EQ(read_text(*stream.near_end, 4), "back");
  std::byte nothing;
  EXPECT_EQ(stream.near_end->try_read_some({&nothing, 1}), -1);
}

// Otherwise a sender that uses its memory again and again would copy everything.
TEST(ResumableConnectionTest, BorrowedBytesAreNotCopiedWhileThereIsNoCarrier) {
  Stream stream;
  std::vector<std::byte> borrowed(1 << 20);
  stream.near_carrier->shutdown();
  EXPECT_TRUE(stream.near_end->write_borrowed(as_bytes("a"), borrowed));
  auto reclaimed = std::async(std::launch::async, [&] { stream.near_end->reclaim(stream.near_end->bytes_sent()); });
  EXPECT_EQ(reclaimed.wait_for(50ms), std::future_status::timeout);
  auto received = std::async(std::launch::async, [&] { return read_text(*stream.far_end, 1 + borrowed.size()); });
  EXPECT_TRUE(stream.carry_on());
  EXPECT_EQ(received.get().size(), 1 + borrowed.size());
  reclaimed.get();
}

TEST(ResumableConnectionTest, WhatWasNotReceivedComesOverTheNextConnection) {
  Stream stream;
  EXPECT_TRUE(stream.near_end->write(as_bytes("one")));
  EXPECT_EQ(read_text(*stream.far_end, 2), "on");
  EXPECT_TRUE(stream.near_end->write(as_bytes("two")));
  stream.near_carrier->shutdown();
  EXPECT_TRUE(stream.near_end->write(as_bytes("three")));
  EXPECT_TRUE(stream.carry_on());
  EXPECT_TRUE(stream.near_end->write(as_bytes("four")));
  EXPECT_EQ(read_text(*stream.far_end, 13), "etwothreefour");
}

TEST(ResumableConnectionTest, ReadersWaitForTheNextConnection) {
  Stream stream;
  auto text = std::async(std::launch::async, [&] { return read_text(*stream.far_end, 4); });
  stream.near_carrier->shutdown();
  EXPECT_EQ(text.wait_for(50ms), std::future_status::timeout);
  EXPECT_TRUE(stream.carry_on());
  EXPECT_TRUE(stream.near_end->write(as_bytes("here")));
  EXPECT_EQ(text.get(), "here");
}

TEST(ResumableConnectionTest, ANewConnectionReplacesOneThatSeemsWell) {
  Stream stream;
  auto text = std::async(std::launch::async, [&] { return read_text(*stream.far_end, 4); });
  EXPECT_TRUE(stream.near_end->write(as_bytes("he")));
  EXPECT_TRUE(stream.carry_on());
  EXPECT_TRUE(stream.near_end->write(as_bytes("re")));
  EXPECT_EQ(text.get(), "here");
}

TEST(ResumableConnectionTest, EndsWhenTheWindowHasPassed) {
  Stream stream(100ms);
  stream.near_carrier->shutdown();
  std::byte byte;
  EXPECT_EQ(stream.far_end->read_some({&byte, 1}), 0u);
  EXPECT_TRUE(stream.far_end->ended());
  EXPECT_FALSE(stream.far_end->write(as_bytes("x")));
  EXPECT_EQ(stream.far_end->try_write(as_bytes("x")), -1);
  EXPECT_FALSE(stream.carry_on());
}

TEST(ResumableConnectionTest, EndsWhenThereIsNoHope) {
  Stream stream;
  stream.hopeless = true;
  stream.near_carrier->shutdown();
  std::byte byte;
  EXPECT_EQ(stream.far_end->read_some({&byte, 1}), 0u);
}

TEST(ResumableConnectionTest, EndsWithItsConnectionWhereThatIsTheEnd) {
  for (const bool before : {true, false}) {
    Stream stream;
    if (before) stream.far_end->end_when_broken();
    stream.near_carrier->shutdown();
    std::byte byte;
    EXPECT_EQ(stream.far_end->try_read_some({&byte, 1}), before ? 0 : -1);
    if (!before) stream.far_end->end_when_broken();
    EXPECT_EQ(stream.far_end->read_some({&byte, 1}), 0u);
  }
}

TEST(ResumableConnectionTest, OnlyTheLastAttemptCounts) {
  Stream stream;
  const auto first = stream.near_end->detach();
  const auto second = stream.near_end->detach();
  auto [near, far] = loopback::make_pair();
  auto [other, rest] = loopback::make_pair();
  EXPECT_FALSE(stream.near_end->resume(first, std::move(near), 0));
  EXPECT_FALSE(stream.near_end->resume(second, std::move(other), 1));  // nothing was sent
  EXPECT_TRUE(stream.near_end->resume(second, std::move(rest), 0));
}

TEST(ResumableConnectionTest, NobodyAcknowledgesWhatWasNotSent) {
  Stream stream;
  EXPECT_FALSE(stream.near_end->acknowledged(1));
  EXPECT_TRUE(stream.near_end->write(as_bytes("x")));
  EXPECT_TRUE(stream.near_end->acknowledged(1));
}

TEST(ResumableConnectionTest, PollTellsOfANewConnection) {
  Stream stream;
  std::byte byte;
  stream.far_carrier->shutdown();
  EXPECT_EQ(stream.near_end->try_read_some({&byte, 1}), -1);
  pollfd wait{stream.near_end->wait_handle(), POLLIN, 0};
  EXPECT_EQ(::poll(&wait, 1, 20), 0);
  auto polled = std::async(std::launch::async, [&] { return ::poll(&wait, 1, 10'000); });
  EXPECT_TRUE(stream.carry_on());
  EXPECT_EQ(polled.get(), 1);
  EXPECT_EQ(stream.near_end->try_read_some({&byte, 1}), -1);
  wait.fd = stream.near_end->wait_handle();
  EXPECT_EQ(::poll(&wait, 1, 20), 0);
  EXPECT_TRUE(stream.far_end->write(as_bytes("x")));
  EXPECT_EQ(::poll(&wait, 1, 10'000), 1);
  EXPECT_EQ(stream.near_end->try_read_some({&byte, 1}), 1);
  stream.near_end->shutdown();
  wait.fd = stream.near_end->wait_handle();
  EXPECT_EQ(::poll(&wait, 1, 10'000), 1);
  EXPECT_EQ(stream.near_end->try_read_some({&byte, 1}), 0);
}

TEST(ResumableConnectionTest, CrowdedUntilSomethingIsAcknowledged) {
  Stream stream;
  const std::vector<std::byte> much(20u << 20);
  stream.near_carrier->shutdown();
  EXPECT_TRUE(stream.near_end->write(much));
  EXPECT_FALSE(stream.near_end->crowded());
  EXPECT_TRUE(stream.near_end->write(much));
  EXPECT_TRUE(stream.near_end->crowded());
  EXPECT_EQ(stream.near_end->try_write(as_bytes("x")), 0);
  auto room = std::async(std::launch::async, [&] { return stream.near_end->await_room(); });
  EXPECT_EQ(room.wait_for(20ms), std::future_status::timeout);
  auto received = std::async(std::launch::async, [&] {
    std::vector<std::byte> all(2 * much.size());
    return stream.far_end->read_exactly(all);
  });
  EXPECT_TRUE(stream.carry_on());
  EXPECT_TRUE(room.get());
  EXPECT_TRUE(received.get());
  EXPECT_FALSE(stream.near_end->crowded());
}

TEST(ResumableConnectionTest, WhoWaitsForRoomLearnsOfTheEnd) {
  Stream stream;
  stream.acknowledges = false;
  const std::vector<std::byte> much(40u << 20);
  auto received = std::async(std::launch::async, [&] {
    std::vector<std::byte> all(much.size());
    return stream.far_end->read_exactly(all);
  });
  EXPECT_TRUE(stream.near_end->write(much));
  EXPECT_TRUE(received.get());
  EXPECT_TRUE(stream.near_end->crowded());
  stream.near_end->end_when_broken();
  auto room = std::async(std::launch::async, [&] { return stream.near_end->await_room(); });
  EXPECT_EQ(room.wait_for(20ms), std::future_status::timeout);
  stream.far_carrier->shutdown();
  std::byte byte;
  EXPECT_EQ(stream.near_end->read_some({&byte, 1}), 0u);
  ASSERT_EQ(room.wait_for(10s), std::future_status::ready);
  EXPECT_FALSE(room.get());
}

// One direction of a stream: all bytes are right, whatever happens to the connections.
void send_all(ResumableConnection& to, std::uint64_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> piece;
  for (std::uint64_t position = 0; position < size;) {
    const std::size_t limit = random() % 8 == 0 ? 300'000 : 2'000;
    piece.resize(std::min<std::uint64_t>(1 + random() % limit, size - position));
    for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = byte_at(position + i);
    const Bytes bytes(piece);
    std::size_t sent = bytes.size();
    switch (random() % 3) {
      case 0:
        ASSERT_TRUE(to.write(bytes));
        break;
      case 1: {
        const std::ptrdiff_t count = to.try_write(bytes);
        ASSERT_GE(count, 0);
        sent = static_cast<std::size_t>(count);
        if (count == 0) to.await_writable(10ms);
        break;
      }
      default:
        ASSERT_TRUE(to.write_borrowed(bytes.first(1), bytes.subspan(1)));
        to.reclaim(to.bytes_sent());
        std::fill(piece.begin(), piece.end(), std::byte{0xee});
    }
    position += sent;
    ASSERT_EQ(to.bytes_sent(), position);
    ASSERT_TRUE(to.await_room());
  }
}

void receive_all(ResumableConnection& from, std::uint64_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> piece(300'000);
  for (std::uint64_t position = 0; position < size;) {
    const MutableBytes space = MutableBytes(piece).first(1 + random() % piece.size());
    std::ptrdiff_t count = 0;
    if (random() % 2 == 0) {
      count = static_cast<std::ptrdiff_t>(from.read_some(space));
      ASSERT_GT(count, 0);
    } else {
      count = from.try_read_some(space);
      ASSERT_NE(count, 0);
      if (count < 0) {
        pollfd wait{from.wait_handle(), POLLIN, 0};
        ASSERT_EQ(::poll(&wait, 1, 30'000), 1);
        continue;
      }
    }
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      ASSERT_EQ(piece[static_cast<std::size_t>(i)], byte_at(position + static_cast<std::uint64_t>(i)));
    }
    position += static_cast<std::uint64_t>(count);
  }
}

TEST(ResumableConnectionTest, EveryByteComesOnceThroughAHundredCuts) {
  constexpr std::uint64_t kSize = 60u << 20;
  constexpr unsigned kSeed = 7;
  Stream stream;
  std::atomic<int> running{4};
  const auto run = [&running](auto&& work, ResumableConnection& end, unsigned seed) {
    return std::thread([&running, work, &end, seed] {
      work(end, kSize, seed);
      --running;
    });
  };
  std::array threads{run(send_all, *stream.near_end, kSeed), run(receive_all, *stream.far_end, kSeed + 1),
                     run(send_all, *stream.far_end, kSeed + 2), run(receive_all, *stream.near_end, kSeed + 3)};
  std::mt19937 random(kSeed);
  int cuts = 0;
  for (; running != 0; ++cuts) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 4000));
    if (random() % 3 != 0) (random() % 2 == 0 ? stream.near_carrier : stream.far_carrier)->shutdown();
    if (random() % 4 == 0) std::this_thread::sleep_for(2ms);
    ASSERT_TRUE(stream.carry_on());
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(cuts, 30);
}

}  // namespace
}  // namespace remotecl
