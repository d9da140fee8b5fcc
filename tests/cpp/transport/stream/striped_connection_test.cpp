// Runs of all sizes, written and read in all ways, over several connections that may break.
#include "runtime/transport/stream/striped_connection.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <future>
#include <random>
#include <vector>

#include "transport/pattern.h"
#include "transport/stream/striped_pair.h"

namespace remotecl {
namespace {

constexpr std::size_t kStripe = StripedConnection::kBlockSize;

std::vector<std::byte> pattern(std::uint64_t offset, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = pattern_at(offset + i);
  return bytes;
}

// Sizes at both sides of what makes a difference.
std::size_t random_size(std::mt19937& random) {
  switch (random() % 4) {
    case 0:
      return 1 + random() % 64;
    case 1:
      return 1 + random() % (2 * kStripe);
    case 2:
      return kStripe * (1 + random() % 12) + random() % 3 - 1;
    default:
      return 1 + random() % (20 * kStripe);
  }
}

// The stream from `done` on to `total`, in runs of random sizes in up to three parts; what goes without blocking now
// and then. False when it broke.
bool write_randomly(Connection& connection, std::uint64_t total, unsigned seed) {
  std::mt19937 random(seed);
  for (std::uint64_t done = 0; done < total;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(random_size(random), total - done));
    std::vector<std::byte> bytes = pattern(done, size);
    if (random() % 4 == 0) {
      const std::ptrdiff_t count = connection.try_write(bytes);
      if (count < 0) return false;
      done += static_cast<std::uint64_t>(count);
      continue;
    }
    const std::size_t first = random() % (size + 1);
    const std::size_t second = first + random() % (size - first + 1);
    iovec parts[3] = {
        {bytes.data(), first}, {bytes.data() + first, second - first}, {bytes.data() + second, size - second}};
    if (!connection.write(parts, 3)) return false;
    done += size;
  }
  return true;
}

// Reads the same until `total` or the end, in ways that change; how many bytes were as they should be.
std::uint64_t read_randomly(Connection& connection, std::uint64_t total, unsigned seed) {
  std::mt19937 random(seed);
  std::uint64_t done = 0;
  while (done < total) {
    std::vector<std::byte> to(static_cast<std::size_t>(std::min<std::uint64_t>(random_size(random), total - done)));
    const auto way = random() % 3;
    std::size_t have = 0;
    // What is read ahead has to be read on in the same memory.
    do {
      const MutableBytes rest = MutableBytes(to).subspan(have);
      std::ptrdiff_t count = -1;
      if (way == 0) {
        count = static_cast<std::ptrdiff_t>(connection.read_some(rest));
      } else {
        pollfd wait{connection.wait_handle(), POLLIN, 0};
        ::poll(&wait, 1, -1);
        count = way == 1 ? connection.try_read_some(rest) : connection.try_read_ahead(rest);
      }
      if (count == 0) {
        EXPECT_EQ(std::vector(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(have)), pattern(done, have));
        return done + have;
      }
      if (count > 0) have += static_cast<std::size_t>(count);
    } while (have < to.size() && way == 2);
    to.resize(have);
    if (to != pattern(done, have)) {
      ADD_FAILURE() << "wrong bytes between " << done << " and " << done + have;
      return done;
    }
    done += have;
  }
  return done;
}

void pass_both_ways(StripedPair pair, std::uint64_t total, unsigned seed) {
  auto there = std::async(std::launch::async, [&] { return write_randomly(*pair.near, total, seed); });
  auto back = std::async(std::launch::async, [&] { return write_randomly(*pair.far, total, seed + 1); });
  auto near = std::async(std::launch::async, [&] { return read_randomly(*pair.near, total, seed + 2); });
  EXPECT_EQ(read_randomly(*pair.far, total, seed + 3), total);
  EXPECT_EQ(near.get(), total);
  EXPECT_TRUE(there.get());
  EXPECT_TRUE(back.get());
  EXPECT_EQ(pair.near->bytes_sent(), total);
  EXPECT_EQ(pair.near->bytes_received(), total);
}

TEST(StripedConnectionTest, PassesRunsOfAllSizesBothWays) {
  for (const std::size_t carriers : {2, 3, 4, 8}) {
    SCOPED_TRACE(carriers);
    pass_both_ways(make_striped_pair(carriers), 24u << 20, static_cast<unsigned>(100 * carriers));
  }
}

TEST(StripedConnectionTest, PassesThemThroughTls) { pass_both_ways(make_striped_tls_pair(3), 12u << 20, 7); }

TEST(StripedConnectionTest, SmallRunsUseTheFirstCarrierAlone) {
  StripedPair pair = make_striped_pair(3);
  ASSERT_TRUE(pair.near->write(pattern(0, kStripe)));
  EXPECT_EQ(pair.near_carriers[0]->bytes_sent(), kStripe + 8);
  EXPECT_EQ(pair.near_carriers[1]->bytes_sent(), 0u);
  EXPECT_EQ(read_randomly(*pair.far, kStripe, 1), kStripe);
  auto got = std::async(std::launch::async, [&] { return read_randomly(*pair.far, 5 * kStripe, 1); });
  // At the same place of the stream, as far as the pattern knows.
  ASSERT_TRUE(pair.near->write(pattern(0, 5 * kStripe)));
  EXPECT_EQ(got.get(), 5 * kStripe);
  EXPECT_EQ(pair.near_carriers[0]->bytes_sent(), 3 * kStripe + 16);
  EXPECT_EQ(pair.near_carriers[1]->bytes_sent(), 2 * kStripe);
  EXPECT_EQ(pair.near_carriers[2]->bytes_sent(), kStripe);
}

TEST(StripedConnectionTest, NothingIsThereUntilSomethingIs) {
  StripedPair pair = make_striped_pair(2);
  std::vector<std::byte> to(4 * kStripe);
  EXPECT_EQ(pair.far->try_read_some(to), -1);
  EXPECT_EQ(pair.far->try_read_ahead(to), -1);
  ASSERT_TRUE(pair.near_carriers[1]->write(pattern(0, 100)));  // of the second block, where the first is missing
  EXPECT_EQ(pair.far->try_read_ahead(to), -1);
}

// Who has read ahead, and does not want the rest any more, passes over it in other memory.
TEST(StripedConnectionTest, WhatWasReadAheadCanBePassedOver) {
  StripedPair pair = make_striped_pair(2);
  const std::size_t size = 16 * kStripe;
  auto written = std::async(std::launch::async,
                            [&] { return pair.near->write(pattern(0, size)) && pair.near->write(pattern(5, 9)); });
  std::vector<std::byte> wanted(size);
  std::size_t have = 0;
  while (have < kStripe) {
    pollfd wait{pair.far->wait_handle(), POLLIN, 0};
    ::poll(&wait, 1, -1);
    const std::ptrdiff_t count = pair.far->try_read_ahead(MutableBytes(wanted).subspan(have, size - have - 1));
    ASSERT_NE(count, 0);
    if (count > 0) have += static_cast<std::size_t>(count);
  }
  wanted.resize(have);
  EXPECT_EQ(wanted, pattern(0, have));
  for (std::vector<std::byte> unwanted(4096); have < size;) {
    const std::size_t count = pair.far->read_some(MutableBytes(unwanted).first(std::min(unwanted.size(), size - have)));
    ASSERT_NE(count, 0u);
    have += count;
  }
  std::vector<std::byte> next(9);
  ASSERT_TRUE(pair.far->read_exactly(next));
  EXPECT_EQ(next, pattern(5, 9));
  EXPECT_TRUE(written.get());
}

TEST(StripedConnectionTest, ARunThatCannotBeEndsIt) {
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{StripedConnection::kRunMax} + 1, ~std::uint64_t{0}}) {
    StripedPair pair = make_striped_pair(2);
    ASSERT_TRUE(pair.near_carriers[0]->write(std::as_bytes(std::span(&size, 1))));
    std::byte byte{};
    EXPECT_EQ(pair.far->read_some({&byte, 1}), 0u);
    EXPECT_FALSE(pair.far->write(pattern(0, 1)));
  }
}

TEST(StripedConnectionTest, ShutdownEndsWhoeverReadsOrWrites) {
  StripedPair pair = make_striped_pair(3);
  std::vector<std::byte> to(9 * kStripe);
  ASSERT_TRUE(pair.far->write(pattern(0, kStripe)));
  auto reading = std::async(std::launch::async, [&] { return pair.near->read_exactly(to); });
  auto writing = std::async(std::launch::async, [&] {  // nobody reads it
    const auto bytes = pattern(0, 64 * kStripe);
    while (pair.near->write(bytes)) {
    }
  });
  EXPECT_EQ(reading.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  pair.near->shutdown();
  EXPECT_FALSE(reading.get());
  writing.get();
}

// What was written to it last may be lost, and the other side waits for that without hearing anything.
TEST(StripedConnectionTest, ACarrierThatEndsIsNoticedWhileNobodyUsesIt) {
  for (const std::size_t victim : {0, 1, 2}) {
    StripedPair pair = make_striped_pair(3);
    std::byte byte{};
    auto reading = std::async(std::launch::async, [&] { return pair.far->read_some({&byte, 1}); });
    pair.near_carriers[victim]->shutdown();
    EXPECT_EQ(reading.get(), 0u);
    EXPECT_FALSE(pair.far->write(pattern(0, 1)));
  }
}

// Whichever carrier breaks, and wherever: what has come before is right, and both sides learn of it.
TEST(StripedConnectionTest, ABrokenCarrierIsTheEndOfTheWhole) {
  constexpr std::uint64_t kTotal = 64u << 20;
  std::mt19937 random(4711);
  for (int i = 0; i < 24; ++i) {
    SCOPED_TRACE(i);
    const std::size_t carriers = 2 + random() % 3;
    StripedPair pair = make_striped_pair(carriers);
    const auto& ends = random() % 2 == 0 ? pair.near_carriers : pair.far_carriers;
    std::shared_ptr<Connection> victim = ends[random() % carriers];
    const std::uint64_t when = random() % (6u << 20);
    auto writing = std::async(std::launch::async, [&, seed = random()] {
      return write_randomly(*pair.near, kTotal, static_cast<unsigned>(seed));
    });
    auto reading = std::async(std::launch::async, [&, seed = random()] {
      return read_randomly(*pair.far, kTotal, static_cast<unsigned>(seed));
    });
    const StripedConnection& far = *pair.far;
    while (far.bytes_received() < when) std::this_thread::yield();
    victim->shutdown();
    EXPECT_LT(reading.get(), kTotal);
    // As who reads then does: what nobody reads any more holds up the writer until it is closed.
    victim.reset();
    pair.far.reset();
    pair.far_carriers.clear();
    EXPECT_FALSE(writing.get());
  }
}

}  // namespace
}  // namespace remotecl
