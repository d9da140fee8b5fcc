// A connection through memory whose peer writes what it likes into the words that both see.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "runtime/transport/shm/shared_memory_connection.h"
#include "runtime/transport/tcp/loopback.h"

namespace remotecl {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kSmallRing = SharedMemorySegment::kRingBytesMin;

// The peer fills every word that both sides see with nonsense, while both threads of this side work.
class Hostile : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  Hostile() {
    auto [near_bell, far_bell] = loopback::make_pair();
    auto segment = SharedMemorySegment::create(kSmallRing);
    peer_ = SharedMemorySegment::open(segment->offer());
    segment->confirm(peer_->answer());
    connection_ = std::make_unique<SharedMemoryConnection>(std::move(segment), std::move(near_bell));
    bell_ = std::move(far_bell);
  }
  // Until the connection ends or, for nonsense that hurts nobody, the peer hangs up.
  void run(std::initializer_list<std::atomic<std::uint64_t>*> indices,
           std::initializer_list<std::atomic<std::uint32_t>*> words) {
    std::thread reader([this] {
      std::vector<std::byte> bytes(10'000);
      while (connection_->read_some(bytes) != 0) {
      }
    });
    std::thread writer([this] {
      const std::vector<std::byte> bytes(10'000);
      while (connection_->write(bytes)) {
      }
    });
    std::this_thread::sleep_for(20ms);
    for (int i = 0; i < 25; ++i) {
      for (auto* index : indices) *index = GetParam();
      for (auto* word : words) *word = static_cast<std::uint32_t>(GetParam());
      std::this_thread::sleep_for(1ms);
    }
    bell_.reset();
    reader.join();
    writer.join();
    std::byte byte{};
    EXPECT_FALSE(connection_->write({&byte, 1}));
    EXPECT_EQ(connection_->read_some({&byte, 1}), 0u);
  }

  std::unique_ptr<SharedMemorySegment> peer_;
  std::unique_ptr<Connection> bell_, connection_;
};

TEST_P(Hostile, Written) { run({&peer_->out_words().written}, {}); }
TEST_P(Hostile, Taken) { run({&peer_->in_words().taken}, {}); }
TEST_P(Hostile, TheConnectionsOwnIndices) { run({&peer_->in_words().written, &peer_->out_words().taken}, {}); }
TEST_P(Hostile, Sleepers) {
  run({}, {&peer_->in_words().reader_sleeps, &peer_->in_words().writer_sleeps, &peer_->out_words().reader_sleeps,
           &peer_->out_words().writer_sleeps});
}
TEST_P(Hostile, Ended) { run({}, {&peer_->out_words().ended, &peer_->in_words().ended}); }
TEST_P(Hostile, Everything) {
  run({&peer_->out_words().written, &peer_->in_words().taken, &peer_->in_words().written, &peer_->out_words().taken},
      {&peer_->in_words().reader_sleeps, &peer_->in_words().writer_sleeps, &peer_->out_words().reader_sleeps,
       &peer_->out_words().writer_sleeps, &peer_->in_words().ended});
}

INSTANTIATE_TEST_SUITE_P(SharedMemoryConnection, Hostile,
                         ::testing::Values(0u, 1u, 2u, 100u, kSmallRing, 1u << 31, 0xffffffffu, std::uint64_t{1} << 63,
                                           ~std::uint64_t{0}));

TEST(SharedMemoryConnection, ImpossibleIndexEndsTheConnectionAtOnce) {
  auto [near_bell, far_bell] = loopback::make_pair();
  auto segment = SharedMemorySegment::create(kSmallRing);
  const auto peer = SharedMemorySegment::open(segment->offer());
  SharedMemoryConnection connection(std::move(segment), std::move(near_bell));
  peer->out_words().written = kSmallRing + 1;
  std::byte got[8];
  EXPECT_EQ(connection.try_read_some(got), 0);
  EXPECT_EQ(connection.try_write(got), -1) << "in both directions";
  EXPECT_EQ(far_bell->read_some(got), 0u) << "and the peer is told";
}

// Bytes on the doorbell that nobody owes us.
TEST(SharedMemoryConnection, AnUncalledRingIsHarmless) {
  auto [near_bell, far_bell] = loopback::make_pair();
  auto segment = SharedMemorySegment::create(kSmallRing);
  const auto peer = SharedMemorySegment::open(segment->offer());
  SharedMemoryConnection connection(std::move(segment), std::move(near_bell));
  const std::vector<std::byte> rings(10'000);
  std::byte got;
  for (int i = 0; i < 10; ++i) {
    ASSERT_GT(far_bell->try_write(rings), 0);
    EXPECT_EQ(connection.try_read_some({&got, 1}), -1);
  }
  connection.set_read_timeout(150ms);
  EXPECT_EQ(connection.read_some({&got, 1}), 0u);
  peer->out_words().written = 1;
  EXPECT_EQ(connection.read_some({&got, 1}), 1u);
}

}  // namespace
}  // namespace remotecl
