// A connection through memory whose doorbell breaks and is made again.
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <future>
#include <random>
#include <thread>
#include <vector>

#include "runtime/transport/shm/shared_memory_connection.h"
#include "transport/pattern.h"
#include "transport/shm/shared_memory_peer.h"
#include "transport/tls/tls_pair.h"

namespace remotecl {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

ResumableConnection& keep_doorbell(Connection& memory, std::chrono::milliseconds window) {
  return static_cast<SharedMemoryConnection&>(memory).keep_doorbell(window,
                                                                    {[] {}, [](std::uint64_t /*received*/) {}, {}});
}

// Both ends in this process.
class DoorbellTest : public ::testing::Test {
 protected:
  void begin(std::chrono::milliseconds window = 30s, std::size_t ring_bytes = SharedMemorySegment::kRingBytes) {
    std::tie(near_, far_) = make_memory_pair(ring_bytes);
    near_bell_ = &keep_doorbell(*near_, window);
    far_bell_ = &keep_doorbell(*far_, window);
  }
  void carry_on() {
    const auto near_attempt = near_bell_->detach();
    const auto far_attempt = far_bell_->detach();
    auto [near, far] = make_tcp_pair();
    EXPECT_TRUE(near_bell_->resume(near_attempt, std::move(near), far_attempt.received));
    EXPECT_TRUE(far_bell_->resume(far_attempt, std::move(far), near_attempt.received));
  }
  static bool is_readable(Connection& connection, int timeout_ms) {
    pollfd wait{connection.wait_handle(), POLLIN, 0};
    return ::poll(&wait, 1, timeout_ms) == 1;
  }
  // Polls until there is a byte.
  static bool polls_for(Connection& connection, std::byte expected) {
    std::byte got{};
    std::ptrdiff_t count = 0;
    while ((count = connection.try_read_some({&got, 1})) < 0) {
      if (!is_readable(connection, 10'000)) return false;
    }
    return count == 1 && got == expected;
  }
  // Asleep in poll(), unless there is something.
  static void fall_asleep(Connection& connection) {
    std::byte got;
    while (connection.try_read_some({&got, 1}) == -1 && is_readable(connection, 0)) {
    }
  }

  std::unique_ptr<Connection> near_, far_;
  ResumableConnection *near_bell_ = nullptr, *far_bell_ = nullptr;
};

TEST_F(DoorbellTest, ThePollerOfANewOneIsWoken) {
  begin();
  for (int i = 1; i < 5; ++i) {
    fall_asleep(*far_);
    carry_on();
    fall_asleep(*far_);
    const auto byte = static_cast<std::byte>(i);
    EXPECT_TRUE(near_->write({&byte, 1}));
    EXPECT_TRUE(polls_for(*far_, byte));
  }
}

TEST_F(DoorbellTest, WhoRangWhileItWasBrokenIsHeard) {
  begin();
  fall_asleep(*far_);
  near_bell_->detach();
  const std::byte byte{7};
  EXPECT_TRUE(near_->write({&byte, 1}));
  carry_on();
  EXPECT_TRUE(polls_for(*far_, byte));
}

TEST_F(DoorbellTest, DataPassesWhileItIsBroken) {
  begin();
  near_bell_->detach();
  far_bell_->detach();
  std::vector<std::byte> got(8u << 20);
  auto read = std::async(std::launch::async, [&] { return far_->read_exactly(got); });
  const std::vector<std::byte> sent(got.size(), std::byte{5});
  EXPECT_TRUE(near_->write(sent));
  EXPECT_TRUE(read.get());
  EXPECT_EQ(got, sent);
}

TEST_F(DoorbellTest, EveryByteComesThroughAHundredCuts) {
  constexpr std::uint64_t kTotal = 4u << 20;
  begin(30s, SharedMemorySegment::kRingBytesMin);
  std::atomic<int> running{2};
  const auto write_all = [&](Connection& to) {
    std::mt19937 random(1);
    std::vector<std::byte> bytes(40'000);
    for (std::uint64_t offset = 0; offset < kTotal;) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(1 + random() % bytes.size(), kTotal - offset));
      for (std::size_t i = 0; i < size; ++i) bytes[i] = pattern_at(offset + i);
      ASSERT_TRUE(to.write(Bytes(bytes).first(size)));
      offset += size;
      if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(random() % 8));
    }
  };
  // The one polls, the other blocks.
  const auto read_all = [&](Connection& from, bool polls) {
    std::vector<std::byte> bytes(50'000);
    for (std::uint64_t offset = 0; offset < kTotal;) {
      ASSERT_TRUE(!polls || is_readable(from, 10'000)) << "nobody rang at " << offset;
      const std::ptrdiff_t count =
          polls ? from.try_read_some(bytes) : static_cast<std::ptrdiff_t>(from.read_some(bytes));
      ASSERT_NE(count, 0);
      for (std::ptrdiff_t i = 0; i < count; ++i, ++offset) {
        ASSERT_EQ(bytes[static_cast<std::size_t>(i)], pattern_at(offset));
      }
    }
    --running;
  };
  std::thread threads[] = {std::thread([&] { write_all(*near_); }), std::thread([&] { write_all(*far_); }),
                           std::thread([&] { read_all(*near_, true); }), std::thread([&] { read_all(*far_, false); })};
  std::mt19937 random(2);
  int cuts = 0;
  for (; running != 0; ++cuts) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
    if (random() % 2 == 0) (random() % 2 == 0 ? near_bell_ : far_bell_)->detach();
    carry_on();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(cuts, 30);
}

TEST_F(DoorbellTest, OneThatIsNotMadeAgainInTimeIsTheEnd) {
  begin(100ms);
  near_bell_->detach();
  std::byte byte;
  EXPECT_EQ(far_->read_some({&byte, 1}), 0u);
  EXPECT_NE(far_bell_->reason(), "");
  EXPECT_EQ(near_->read_some({&byte, 1}), 0u);
}

TEST_F(DoorbellTest, TheOtherSidesEndIsSeenAtOnce) {
  begin();
  auto read = std::async(std::launch::async, [&] {
    std::byte byte;
    return far_->read_some({&byte, 1});
  });
  EXPECT_EQ(read.wait_for(200ms), std::future_status::timeout);
  near_->shutdown();
  ASSERT_EQ(read.wait_for(1s), std::future_status::ready);
  EXPECT_EQ(read.get(), 0u);
}

// Nobody waits for a process that is gone to come back.
TEST_F(DoorbellTest, TheEndOfTheOtherProcessIsSeenAtOnce) {
  for (const bool is_broken : {false, true}) {
    for (const bool polls : {false, true}) {
      MemoryPeer peer("silent");
      ResumableConnection& bell = keep_doorbell(peer.connection(), 30s);
      if (is_broken) bell.detach();
      auto read = std::async(std::launch::async, [&] {
        std::byte byte;
        if (!polls) return static_cast<std::ptrdiff_t>(peer.connection().read_some({&byte, 1}));
        std::ptrdiff_t count = 0;
        while ((count = peer.connection().try_read_some({&byte, 1})) < 0 && is_readable(peer.connection(), 10'000)) {
        }
        return count;
      });
      EXPECT_EQ(read.wait_for(200ms), std::future_status::timeout);
      const auto begin = Clock::now();
      peer.kill();
      EXPECT_EQ(read.get(), 0);
      EXPECT_LT(Clock::now() - begin, 1s);
      const std::vector<std::byte> much(8u << 20);
      EXPECT_FALSE(peer.connection().write(much));
    }
  }
}

}  // namespace
}  // namespace remotecl
