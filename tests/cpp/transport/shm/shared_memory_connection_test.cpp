// What a connection through memory promises beyond what every transport does (connection_test.cpp).
#include "runtime/transport/shm/shared_memory_connection.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "transport/pattern.h"
#include "transport/shm/shared_memory_peer.h"

namespace remotecl {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kSmallRing = SharedMemorySegment::kRingBytesMin;

// Writes a stream of the test's pattern in pieces of random sizes, by each of the ways to write.
void write_pattern(Connection& to, std::uint64_t total, std::size_t size_max, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size_max);
  for (std::uint64_t offset = 0; offset < total;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(random() % size_max, total - offset));
    for (std::size_t i = 0; i < size; ++i) bytes[i] = pattern_at(offset + i);
    const std::size_t first = size == 0 ? 0 : random() % size;
    switch (random() % 3) {
      case 0:
        ASSERT_TRUE(to.write(Bytes(bytes).first(size)));
        offset += size;
        break;
      case 1:
        ASSERT_TRUE(to.write(Bytes(bytes).first(first), Bytes(bytes).subspan(first, size - first)));
        offset += size;
        break;
      case 2: {
        const std::ptrdiff_t count = to.try_write(Bytes(bytes).first(size));
        ASSERT_GE(count, 0);
        offset += static_cast<std::uint64_t>(count);
        break;
      }
    }
  }
}

// Reads it, blocking or (with poll) not, and by both in turns.
void read_pattern(Connection& from, std::uint64_t total, std::size_t size_max, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size_max + 1);
  std::uint64_t offset = 0, wrong = 0;
  while (offset < total) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(1 + random() % size_max, total - offset));
    std::size_t count = 0;
    if (random() % 3 == 0) {
      count = from.read_some(MutableBytes(bytes).first(size));
      ASSERT_NE(count, 0u);
    } else {
      pollfd wait{from.wait_handle(), POLLIN, 0};
      ASSERT_EQ(::poll(&wait, 1, 10'000), 1) << "nobody rang at " << offset;
      const std::ptrdiff_t read = from.try_read_some(MutableBytes(bytes).first(size));
      ASSERT_NE(read, 0);
      count = read < 0 ? 0 : static_cast<std::size_t>(read);
    }
    ASSERT_LE(count, size);
    for (std::size_t i = 0; i < count; ++i) wrong += bytes[i] != pattern_at(offset + i);
    offset += count;
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(from.try_read_some(bytes), -1);
}

TEST(SharedMemoryConnection, RandomSizesBothWaysAtOnce) {
  for (const auto& [ring, size_max, total] : {std::tuple{kSmallRing, 300, 1u << 20},
                                              {kSmallRing, 20'000, 8u << 20},
                                              {std::size_t{1} << 20, 500'000, 48u << 20}}) {
    SCOPED_TRACE(ring);
    auto [near, far] = make_memory_pair(ring);
    const auto limit = static_cast<std::size_t>(size_max);
    std::thread threads[] = {std::thread([&] { write_pattern(*near, total, limit, 1); }),
                             std::thread([&] { write_pattern(*far, total, limit, 2); }),
                             std::thread([&] { read_pattern(*near, total, limit, 3); })};
    read_pattern(*far, total, limit, 4);
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(near->bytes_sent(), total);
    EXPECT_EQ(near->bytes_received(), total);
  }
}

TEST(SharedMemoryConnection, AnotherProcessSendsBackWhatItGets) {
  constexpr std::uint64_t kTotal = 32u << 20;
  MemoryPeer peer("echo");
  std::thread writer([&peer] { write_pattern(peer.connection(), kTotal, 200'000, 5); });
  read_pattern(peer.connection(), kTotal, 200'000, 6);
  writer.join();
  peer.connection().shutdown();
  EXPECT_EQ(peer.wait(), 0) << "it sees the end";
}

// A byte at a time, with pauses, so that the reader is found napping and sound asleep.
TEST(SharedMemoryConnection, AReaderIsWokenHoweverLongItHasWaited) {
  auto [near, far] = make_memory_pair();
  std::thread writer([&near = *near] {
    for (const auto pause : {0ms, 1ms, 50ms, 99ms, 100ms, 101ms, 300ms}) {
      std::this_thread::sleep_for(pause);
      const std::byte byte{1};
      near.write({&byte, 1});
    }
  });
  std::byte got[7];
  EXPECT_TRUE(far->read_exactly(got));
  writer.join();
}

TEST(SharedMemoryConnection, AnIdleReaderSleeps) {
  auto [near, far] = make_memory_pair();
  std::thread reader([&far = *far] {
    std::byte got;
    rusage before{}, after{};
    ::getrusage(RUSAGE_THREAD, &before);
    EXPECT_EQ(far.read_some({&got, 1}), 0u);
    ::getrusage(RUSAGE_THREAD, &after);
    EXPECT_LE(after.ru_nvcsw - before.ru_nvcsw, 5) << "woken for nothing";
  });
  std::this_thread::sleep_for(1s);
  near->shutdown();
  reader.join();
}

TEST(SharedMemoryConnection, ReadTimeoutOfAnySize) {
  auto [near, far] = make_memory_pair();
  for (const auto timeout : {1ms, 99ms, 150ms}) {
    far->set_read_timeout(timeout);
    std::byte got;
    const auto start = Clock::now();
    EXPECT_EQ(far->read_some({&got, 1}), 0u);
    EXPECT_GE(Clock::now() - start, timeout);
    EXPECT_LT(Clock::now() - start, timeout + 1s);
  }
}

enum class Blocked { kInRead, kInWrite };

// Seconds until a thread that is blocked comes back after `end`, which runs when it has been blocked for `before`.
template <class End>
double seconds_to_come_back(Connection& connection, Blocked where, std::chrono::milliseconds before, End end) {
  Clock::time_point back;
  std::vector<std::byte> bytes(8u << 20);  // more than fits into a ring
  std::thread thread([&] {
    if (where == Blocked::kInRead) {
      EXPECT_EQ(connection.read_some(bytes), 0u);
    } else {
      EXPECT_FALSE(connection.write(Bytes(bytes)));
    }
    back = Clock::now();
  });
  std::this_thread::sleep_for(before);
  const auto start = Clock::now();
  end();
  thread.join();
  return std::chrono::duration<double>(back - start).count();
}

class Ends : public ::testing::TestWithParam<std::tuple<Blocked, std::chrono::milliseconds>> {
 protected:
  const Blocked where_ = std::get<0>(GetParam());
  const std::chrono::milliseconds before_ = std::get<1>(GetParam());
};

// The best of a few attempts, which tells a wake-up from a nap that ended by itself even on a busy machine.
template <class End>
double best_seconds_to_come_back(Blocked where, std::chrono::milliseconds before, End end) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    auto [near, far] = make_memory_pair();
    best = std::min(best,
                    seconds_to_come_back(*near, where, before, [&near = *near, &far = *far, end] { end(near, far); }));
  }
  return best;
}

TEST_P(Ends, BlockedThreadSeesItsOwnSidesShutdown) {
  EXPECT_LT(best_seconds_to_come_back(where_, before_, [](Connection& near, Connection&) { near.shutdown(); }), 0.03);
}

TEST_P(Ends, BlockedThreadSeesThePeersShutdown) {
  EXPECT_LT(best_seconds_to_come_back(where_, before_, [](Connection&, Connection& far) { far.shutdown(); }), 0.03);
}

TEST_P(Ends, BlockedThreadSeesThePeersDeath) {
  MemoryPeer peer("silent");
  EXPECT_LT(seconds_to_come_back(peer.connection(), where_, before_, [&peer] { peer.kill(); }), 1.0);
  std::byte byte{};
  EXPECT_FALSE(peer.connection().write({&byte, 1}));
  EXPECT_EQ(peer.connection().read_some({&byte, 1}), 0u);
}

INSTANTIATE_TEST_SUITE_P(SharedMemoryConnection, Ends,
                         ::testing::Combine(::testing::Values(Blocked::kInRead, Blocked::kInWrite),
                                            ::testing::Values(30ms, 350ms)));

TEST(SharedMemoryConnection, PollSeesThePeersDeath) {
  MemoryPeer peer("silent");
  std::byte got;
  EXPECT_EQ(peer.connection().try_read_some({&got, 1}), -1);
  pollfd wait{peer.connection().wait_handle(), POLLIN, 0};
  EXPECT_EQ(::poll(&wait, 1, 0), 0) << "nothing to see yet";
  peer.kill();
  EXPECT_EQ(::poll(&wait, 1, 1000), 1);
  EXPECT_EQ(peer.connection().try_read_some({&got, 1}), 0);
}

TEST(SharedMemoryConnection, TryWriteSeesThePeersDeath) {
  MemoryPeer peer("silent");
  const std::vector<std::byte> bytes(64u << 20);
  EXPECT_GT(peer.connection().try_write(bytes), 0);
  EXPECT_EQ(peer.connection().try_write(bytes), 0);
  peer.kill();
  EXPECT_EQ(peer.connection().try_write(bytes), -1);
}

TEST(SharedMemoryConnection, WhatAKilledPeerHadSentArrives) {
  MemoryPeer peer("echo");
  std::vector<std::byte> bytes(100'000);
  ASSERT_TRUE(peer.connection().write(Bytes(bytes)));
  while (peer.connection().try_read_some(MutableBytes(bytes).first(1)) < 0) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(100ms);  // the rest is on its way
  peer.kill();
  EXPECT_TRUE(peer.connection().read_exactly(MutableBytes(bytes).first(99'999)));
  EXPECT_EQ(peer.connection().read_some(bytes), 0u);
}

}  // namespace
}  // namespace remotecl
