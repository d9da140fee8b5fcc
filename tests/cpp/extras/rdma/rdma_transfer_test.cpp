#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "rdma_pair.h"

namespace remotecl::testing {
namespace {

using Use = RdmaChannel::Use;

class RdmaTransferTest : public RdmaTest {
 protected:
  static constexpr std::size_t kSizes[] = {1, 7, 64, 1023, 4096, 4097, 65'536, 1'000'003, 3u << 20};
  static constexpr std::size_t kGuard = 64;
};

// With what is known to the two sides before the bytes are sent.
enum Known { kAnnounced = 1, kSourceRegistered = 2, kDestinationRegistered = 4 };

class RdmaTransferKinds : public RdmaTransferTest, public ::testing::WithParamInterface<int> {};

TEST_P(RdmaTransferKinds, EveryByteArrivesAndNoneBesides) {
  RdmaPair pair;
  std::uint64_t transfer = 0;
  for (const std::size_t size : kSizes) {
    ++transfer;
    Registered from(*pair.near, pattern(size, static_cast<std::uint32_t>(transfer)));
    Registered to(*pair.far, std::vector<std::byte>(size + 2 * kGuard));
    RdmaSource source = from.source();
    RdmaDestination destination = to.part(kGuard, size);
    if ((GetParam() & kSourceRegistered) == 0) source.registration = nullptr;
    if ((GetParam() & kDestinationRegistered) == 0) destination.registration = nullptr;
    if ((GetParam() & kAnnounced) != 0) pair.far->announce(transfer, destination);
    std::thread sender([&] { EXPECT_TRUE(send_all(*pair.near, transfer, source, Use::kCopied)); });
    EXPECT_TRUE(receive_all(*pair.far, transfer, destination)) << pair.far->reason();
    sender.join();
    const auto begin = to.bytes.begin() + kGuard;
    EXPECT_TRUE(std::equal(from.bytes.begin(), from.bytes.end(), begin)) << size;
    const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
    EXPECT_TRUE(std::all_of(to.bytes.begin(), begin, is_zero)) << size;
    EXPECT_TRUE(std::all_of(begin + static_cast<std::ptrdiff_t>(size), to.bytes.end(), is_zero)) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RdmaTransferKinds,
                         ::testing::Values(kAnnounced | kSourceRegistered | kDestinationRegistered,
                                           kSourceRegistered | kDestinationRegistered, kDestinationRegistered,
                                           kSourceRegistered, 0));

TEST_F(RdmaTransferTest, PiecesThatAreReceivedNeedNotBeThoseThatAreSent) {
  RdmaPair pair;
  Registered from(*pair.near, pattern(300'000, 3));
  Registered to(*pair.far, std::vector<std::byte>(300'000));
  std::thread sender([&] { EXPECT_TRUE(pair.near->send(5, from.source(), Use::kBorrowed)); });
  pair.far->expect(5, to.bytes.size());
  for (std::size_t at = 0; at < to.bytes.size();) {
    const std::size_t size = std::min<std::size_t>(70'001, to.bytes.size() - at);
    ASSERT_TRUE(pair.far->receive(to.part(at, size))) << pair.far->reason();
    at += size;
  }
  sender.join();
  EXPECT_EQ(to.bytes, from.bytes);
}

TEST_F(RdmaTransferTest, BothDirectionsAtOnce) {
  RdmaPair pair;
  constexpr std::size_t kSize = 400'000;
  constexpr std::uint64_t kTransfers = 8;
  const auto send = [](RdmaChannel& channel, std::uint32_t seed) {
    for (std::uint64_t i = 0; i < kTransfers; ++i) {
      Registered from(channel, pattern(kSize, seed + static_cast<std::uint32_t>(i)));
      EXPECT_TRUE(send_all(channel, i, from.source(), Use::kCopied));
    }
  };
  const auto receive = [](RdmaChannel& channel, std::uint32_t seed) {
    for (std::uint64_t i = 0; i < kTransfers; ++i) {
      Registered to(channel, std::vector<std::byte>(kSize));
      if (i % 2 == 0) channel.announce(i, to.destination());
      ASSERT_TRUE(receive_all(channel, i, to.destination())) << channel.reason();
      EXPECT_EQ(to.bytes, pattern(kSize, seed + static_cast<std::uint32_t>(i)));
    }
  };
  std::vector<std::thread> threads;
  threads.emplace_back([&] { send(*pair.near, 10); });
  threads.emplace_back([&] { send(*pair.far, 20); });
  threads.emplace_back([&] { receive(*pair.near, 20); });
  threads.emplace_back([&] { receive(*pair.far, 10); });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(RdmaTransferTest, ManyTransfersMoreThanThereAreWindows) {
  RdmaPair pair;
  constexpr std::size_t kSize = 3000;
  constexpr std::uint64_t kTransfers = 300;
  Registered from(*pair.near, pattern(kSize * kTransfers, 7));
  Registered to(*pair.far, std::vector<std::byte>(kSize * kTransfers));
  std::thread sender([&] {
    for (std::uint64_t i = 0; i < kTransfers; ++i) {
      const Bytes part = Bytes(from.bytes).subspan(i * kSize, kSize);
      EXPECT_TRUE(pair.near->send(i, {part, from.registration.get()}, Use::kBorrowed));
    }
    pair.near->reclaim(pair.near->bytes_sent());
  });
  constexpr std::uint64_t kAhead = 20;
  for (std::uint64_t i = 0; i < kAhead; ++i) pair.far->announce(i, to.part(i * kSize, kSize));
  for (std::uint64_t i = 0; i < kTransfers; ++i) {
    ASSERT_TRUE(receive_all(*pair.far, i, to.part(i * kSize, kSize))) << pair.far->reason();
    if (i + kAhead < kTransfers) pair.far->announce(i + kAhead, to.part((i + kAhead) * kSize, kSize));
  }
  sender.join();
  EXPECT_EQ(to.bytes, from.bytes);
}

// Each piece costs a grant and a write, one sleep at each side, and the registration of its window.
TEST_F(RdmaTransferTest, AMiBTakesAtMostTwoSystemCallsAtEachSide) {
  RdmaPair pair;
  constexpr std::size_t kPieces = 8, kPiece = RdmaChannel::kPieceBytes, kMiB = kPieces * kPiece >> 20;
  Registered from(*pair.near, std::vector<std::byte>(kPieces * kPiece, std::byte{5}));
  Registered to(*pair.far, std::vector<std::byte>(kPieces * kPiece));
  const std::uint64_t sending = pair.near->system_calls(), receiving = pair.far->system_calls();
  const auto begin = std::chrono::steady_clock::now();
  std::thread sender([&] {
    for (std::size_t i = 0; i < kPieces; ++i) {
      const Bytes piece = Bytes(from.bytes).subspan(i * kPiece, kPiece);
      EXPECT_TRUE(pair.near->send(1, {piece, from.registration.get()}, Use::kBorrowed));
    }
    pair.near->reclaim(pair.near->bytes_sent());
  });
  for (std::size_t i = 0; i < kPieces; ++i) {
    pair.far->expect(1, kPiece);
    EXPECT_TRUE(pair.far->receive(to.part(i * kPiece, kPiece))) << pair.far->reason();
  }
  sender.join();
  // A second in which nothing comes costs a probe. The closing of a memory window may have to be waited for.
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
  const std::uint64_t closing = uses_windows() ? 2 * kPieces : 0;
  const std::uint64_t limit = 2 * kMiB + closing + 8 * (static_cast<std::uint64_t>(seconds.count()) - 1);
  EXPECT_LE(pair.near->system_calls() - sending, limit);
  EXPECT_LE(pair.far->system_calls() - receiving, limit);
  EXPECT_EQ(to.bytes, from.bytes);
}

TEST_F(RdmaTransferTest, WhoeverPollsIsWokenForEverything) {
  RdmaPair pair;
  constexpr std::size_t kSize = 50'000;
  Registered from(*pair.near, pattern(kSize, 9));
  Registered to(*pair.far, std::vector<std::byte>(kSize));
  std::thread sender([&] {
    for (std::uint64_t i = 0; i < 20; ++i) EXPECT_TRUE(send_all(*pair.near, i, from.source(), Use::kCopied));
    pair.near->shutdown();
  });
  const auto wait = [&] {
    pollfd waiting{pair.far->wait_handle(), POLLIN, 0};
    ::poll(&waiting, 1, -1);
  };
  for (std::uint64_t transfer = 0; transfer < 20; ++transfer) {
    std::fill(to.bytes.begin(), to.bytes.end(), std::byte{0});
    pair.far->expect(transfer, kSize);
    for (std::size_t at = 0; at < kSize;) {
      const std::ptrdiff_t count = pair.far->try_receive(to.part(at, kSize - at));
      ASSERT_NE(count, 0) << pair.far->reason();
      if (count < 0)
        wait();
      else
        at += static_cast<std::size_t>(count);
    }
    EXPECT_EQ(to.bytes, from.bytes);
  }
  sender.join();
  pair.far->expect(20, kSize);
  std::ptrdiff_t count = 0;
  while ((count = pair.far->try_receive(to.destination())) < 0) wait();
  EXPECT_EQ(count, 0);
}

// A window's opening and closing, a grant, and for the wait the armed queue and its event; a memory window's closing is
// waited for, too. What the thread that polls has seen itself is no reason to wake it.
TEST_F(RdmaTransferTest, WhoeverPollsDoesNotWakeItself) {
  RdmaPair pair;
  constexpr std::size_t kSize = 50'000;
  constexpr std::uint64_t kTransfers = 40;
  Registered from(*pair.near, pattern(kSize, 9));
  Registered to(*pair.far, std::vector<std::byte>(kSize));
  const std::uint64_t before = pair.far->system_calls();
  for (std::uint64_t transfer = 0; transfer < kTransfers; ++transfer) {
    pair.far->expect(transfer, kSize);
    EXPECT_EQ(pair.far->try_receive(to.destination()), -1);
    std::thread sender([&] { EXPECT_TRUE(send_all(*pair.near, transfer, from.source(), Use::kCopied)); });
    sender.join();
    std::ptrdiff_t count = -1;
    while (count < 0) {
      pollfd waiting{pair.far->wait_handle(), POLLIN, 0};
      EXPECT_EQ(::poll(&waiting, 1, 10'000), 1);
      count = pair.far->try_receive(to.destination());
    }
    EXPECT_EQ(count, static_cast<std::ptrdiff_t>(kSize));
  }
  EXPECT_LE(pair.far->system_calls() - before, (uses_windows() ? 8 : 6) * kTransfers);
}

TEST_F(RdmaTransferTest, BytesThatNobodyWantsAreNotSent) {
  RdmaPair pair;
  Registered from(*pair.near, pattern(500'000, 4));
  Registered to(*pair.far, std::vector<std::byte>(1000));
  std::thread sender([&] {
    EXPECT_TRUE(pair.near->send(1, from.source(), Use::kBorrowed));
    EXPECT_TRUE(pair.near->send(2, {Bytes(from.bytes).first(1000), from.registration.get()}, Use::kBorrowed));
    pair.near->reclaim(pair.near->bytes_sent());
  });
  pair.far->expect(1, 500'000);
  for (std::size_t left = 500'000; left != 0;) {
    const std::ptrdiff_t count = pair.far->try_discard(left);
    ASSERT_GT(count, 0);
    left -= static_cast<std::size_t>(count);
  }
  EXPECT_TRUE(receive_all(*pair.far, 2, to.destination()));
  sender.join();
  EXPECT_EQ(pair.near->bytes_sent(), 1000u);
}

}  // namespace
}  // namespace remotecl::testing
