// A stream that is carried by one set of connections after another.
#include <gtest/gtest.h>

#include <future>
#include <random>

#include "runtime/transport/stream/resumable_connection.h"
#include "transport/pattern.h"
#include "transport/stream/striped_pair.h"

namespace remotecl {
namespace {

// Both ends, which carry on by themselves: with another number of connections each time.
class StripedStream {
 public:
  StripedStream() {
    const auto end = [this](std::shared_ptr<Connection> carrier, std::unique_ptr<ResumableConnection>& other) {
      return std::make_unique<ResumableConnection>(
          std::move(carrier), std::chrono::seconds(30),
          ResumableConnection::Hooks{
              [] {}, [&other](std::uint64_t received) { EXPECT_TRUE(other->acknowledged(received)); }, {}});
    };
    auto [near_carrier, far_carrier] = carriers();
    near = end(near_carrier, far);
    far = end(far_carrier, near);
    near->make_writers_wait();
    far->make_writers_wait();
  }

  // Breaks one of the connections, and goes on over others.
  void break_one(std::mt19937& random) {
    current_.near_carriers[random() % current_.near_carriers.size()]->shutdown();
    const auto near_attempt = near->detach();
    const auto far_attempt = far->detach();
    auto [near_carrier, far_carrier] = carriers();
    // Either may have to wait until the other one reads.
    auto first = std::async(std::launch::async, [&, carrier = near_carrier] {
      return near->resume(near_attempt, carrier, far_attempt.received);
    });
    EXPECT_TRUE(far->resume(far_attempt, far_carrier, near_attempt.received));
    EXPECT_TRUE(first.get());
  }

  std::unique_ptr<ResumableConnection> near, far;

 private:
  std::pair<std::shared_ptr<Connection>, std::shared_ptr<Connection>> carriers() {
    current_ = make_striped_pair(2 + ++made_ % 3);
    return {std::move(current_.near), std::move(current_.far)};
  }

  StripedPair current_;
  std::size_t made_ = 0;
};

bool write_all(ResumableConnection& stream, Bytes bytes) {
  constexpr std::size_t kChunk = 1u << 20;
  for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
    const Bytes chunk = bytes.subspan(at, std::min(kChunk, bytes.size() - at));
    // A header of a few bytes, as bulk data has; half of the rest is borrowed.
    if (!stream.write_borrowed(chunk.first(16), chunk.subspan(16, chunk.size() / 2))) return false;
    if (!stream.write(chunk.subspan(16 + chunk.size() / 2))) return false;
    if (at % (4 * kChunk) == 0) stream.reclaim(stream.bytes_sent());
  }
  stream.reclaim(stream.bytes_sent());
  return true;
}

bool read_all(ResumableConnection& stream, std::size_t size) {
  std::vector<std::byte> to(3u << 20);
  for (std::size_t at = 0; at < size;) {
    const MutableBytes piece = MutableBytes(to).first(std::min(to.size(), size - at));
    if (!stream.read_exactly(piece)) return false;
    for (std::size_t i = 0; i < piece.size(); ++i) {
      if (piece[i] != pattern_at(at + i)) return false;
    }
    at += piece.size();
  }
  return true;
}

TEST(StripedStreamTest, LosesNothingWhicheverConnectionBreaks) {
  constexpr std::size_t kSize = 48u << 20;
  std::vector<std::byte> bytes(kSize);
  for (std::size_t i = 0; i < kSize; ++i) bytes[i] = pattern_at(i);
  StripedStream stream;
  auto there = std::async(std::launch::async, [&] { return write_all(*stream.near, bytes); });
  auto back = std::async(std::launch::async, [&] { return write_all(*stream.far, bytes); });
  auto near_read = std::async(std::launch::async, [&] { return read_all(*stream.near, kSize); });
  auto far_read = std::async(std::launch::async, [&] { return read_all(*stream.far, kSize); });
  std::mt19937 random(99);
  for (std::uint64_t received = 0; received < kSize - (4u << 20); received += 1 + random() % (4u << 20)) {
    while (stream.far->bytes_received() < received) std::this_thread::yield();
    stream.break_one(random);
  }
  EXPECT_TRUE(there.get());
  EXPECT_TRUE(back.get());
  EXPECT_TRUE(near_read.get());
  EXPECT_TRUE(far_read.get());
}

}  // namespace
}  // namespace remotecl
