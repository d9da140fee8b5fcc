// Compressed chunks: what travels, and what a malicious sender gets.
#include <gtest/gtest.h>

#include <poll.h>

#include <random>
#include <thread>

#include "runtime/transport/bulk/stream_bulk_transport.h"
#include "runtime/transport/compression/block_codec.h"
#include "runtime/transport/tcp/loopback.h"

namespace remotecl {
namespace {

using Use = BulkTransport::Use;
constexpr std::size_t kSize = 1u << 20;

std::vector<std::byte> random_bytes(std::size_t size) {
  std::mt19937_64 random(1);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

class ChunkPackerTest : public ::testing::Test {
 protected:
  ChunkPackerTest() {
    auto [near, far] = loopback::make_pair();
    near_ = std::move(near);
    far_ = std::make_unique<StreamBulkTransport>(std::move(far), RdmaState(), CompressionMode::kAlways);
  }
  // What arrives of that, as one transfer.
  std::vector<std::byte> through(BulkTransport& from, const BulkSource& source, std::int32_t status = 0) {
    std::thread sender([&] {
      EXPECT_TRUE(from.send({3, static_cast<std::uint32_t>(source.bytes.size()), status}, source, Use::kCopied));
    });
    std::vector<std::byte> got(source.bytes.size());
    for (std::size_t at = 0; at < got.size();) {
      BulkHeader header{};
      const bool is_there = far_->receive_header(header);
      EXPECT_TRUE(is_there && header.transfer == 3 && header.status == status);
      if (!is_there || header.size > got.size() - at) break;
      EXPECT_TRUE(status == 0 || header.size == got.size()) << "a pushed write is one chunk";
      EXPECT_TRUE(far_->receive({MutableBytes(got).subspan(at, header.size)}));
      at += header.size;
    }
    sender.join();
    return got;
  }
  // A header, the size of what is compressed, and that, as a malicious sender may choose them.
  void write(std::uint32_t size, std::int32_t status, std::uint32_t packed_size, Bytes packed) {
    ASSERT_TRUE(near_->write(encode_frame<BulkHeader, kBulkHeaderSize>({3, size, status})));
    ASSERT_TRUE(near_->write(encode_frame<PackedSize, kPackedSizeSize>({packed_size})));
    ASSERT_TRUE(near_->write(packed));
  }
  // Whether the receiver takes it, blocking or not.
  bool is_taken(std::size_t room) {
    BulkHeader header{};
    if (!far_->receive_header(header)) return false;
    std::vector<std::byte> got(room);
    return far_->receive({got});
  }

  std::unique_ptr<Connection> near_;
  std::unique_ptr<StreamBulkTransport> far_;
};

TEST_F(ChunkPackerTest, CompressesWhatBecomesSmaller) {
  StreamBulkTransport near(std::move(near_), {}, CompressionMode::kAlways);
  const std::vector<std::byte> zeros(kSize);
  EXPECT_EQ(through(near, {zeros}), zeros);
  EXPECT_LT(near.bytes_sent(), kSize / 100);
  const CompressionCounts sent = near.compression(), received = far_->compression();
  EXPECT_EQ(sent.sent_before, kSize);
  EXPECT_LT(sent.sent_after, kSize / 100);
  EXPECT_EQ(received.received_before, sent.sent_before);
  EXPECT_EQ(received.received_after, sent.sent_after);
}

TEST_F(ChunkPackerTest, SendsTheRestAsItIs) {
  StreamBulkTransport near(std::move(near_), {}, CompressionMode::kAlways);
  const auto bytes = random_bytes(kSize);
  EXPECT_EQ(through(near, {bytes}), bytes);
  EXPECT_EQ(near.compression(), CompressionCounts());
  EXPECT_LT(near.bytes_sent(), kSize + 8 * kBulkHeaderSize);
}

TEST_F(ChunkPackerTest, APushedWriteStaysOneChunk) {
  StreamBulkTransport near(std::move(near_), {}, CompressionMode::kAlways);
  const std::vector<std::byte> zeros(kPackedChunkMax);
  EXPECT_EQ(through(near, {zeros}, kPushedChunk), zeros);
  EXPECT_EQ(near.compression().sent_before, kPackedChunkMax);
}

TEST_F(ChunkPackerTest, LeavesAFastLinkAlone) {
  StreamBulkTransport near(std::move(near_), {}, CompressionMode::kOff);
  const std::vector<std::byte> zeros(kSize);
  EXPECT_EQ(through(near, {zeros}), zeros);
  EXPECT_EQ(near.compression(), CompressionCounts());
}

// Sends as the transport did without compression, which notices such memory itself.
TEST_F(ChunkPackerTest, ReadsNoMemoryThatIsGone) {
  struct Gone : SourceOwner {
    bool copy(Bytes, MutableBytes) override { return ++asked_, false; }
    int asked_ = 0;
  } owner;
  StreamBulkTransport near(std::move(near_), {}, CompressionMode::kAlways);
  const std::vector<std::byte> zeros(kSize);
  EXPECT_EQ(through(near, {zeros, nullptr, &owner}), zeros);
  EXPECT_EQ(owner.asked_, 4);
  EXPECT_EQ(near.compression(), CompressionCounts());
}

TEST_F(ChunkPackerTest, EndsAConnectionThatNamesWrongSizes) {
  BlockCompressor compressor;
  const std::vector<std::byte> zeros(kSize);
  const Bytes packed = compressor.compress(zeros);
  const auto size = static_cast<std::uint32_t>(packed.size());
  struct Wrong {
    std::uint32_t chunk;
    std::int32_t status;
    std::uint32_t packed;
  };
  for (const Wrong wrong :
       {Wrong{kPackedChunkMax + 1, kPackedChunk, size}, Wrong{0, kPackedChunk, size},
        Wrong{kSize - 1, kPackedChunk, size}, Wrong{kSize / 2, kPackedChunk, size}, Wrong{1, kPackedChunk, size},
        Wrong{kSize, kPackedChunk, 0}, Wrong{kSize, kPackedChunk, kSize}, Wrong{kSize, kPackedChunk, 0xffff'ffff},
        Wrong{kSize, kPackedChunk, size - 1}, Wrong{kSize, kPackedChunk | kStoredChunk, size},
        Wrong{kSize, kPackedChunk | kRdmaChunk, size}, Wrong{kSize, kPackedChunk | 0x100, size}}) {
    auto [near, far] = loopback::make_pair();
    near_ = std::move(near);
    far_ = std::make_unique<StreamBulkTransport>(std::move(far), RdmaState(), CompressionMode::kAuto);
    write(wrong.chunk, wrong.status, wrong.packed, packed);
    EXPECT_FALSE(is_taken(wrong.chunk == 0 ? 1 : wrong.chunk)) << wrong.chunk << " " << wrong.packed;
    EXPECT_FALSE(far_->violation().empty());
  }
}

TEST_F(ChunkPackerTest, EndsAConnectionThatSendsSomethingElse) {
  const auto noise = random_bytes(1000);
  write(kSize, kPackedChunk, 1000, noise);
  EXPECT_FALSE(is_taken(kSize));
  EXPECT_NE(far_->violation().find("1048576"), std::string::npos) << far_->violation();
}

// Who has not offered compression takes such a status for what it is: unknown.
TEST_F(ChunkPackerTest, IsUnknownWhereItWasNotAgreedOn) {
  auto [near, far] = loopback::make_pair();
  StreamBulkTransport plain(std::move(far));
  ASSERT_TRUE(near->write(encode_frame<BulkHeader, kBulkHeaderSize>({3, 100, kPackedChunk})));
  BulkHeader header{};
  ASSERT_TRUE(plain.receive_header(header));
  EXPECT_EQ(header.status, kPackedChunk);
}

// As rows with gaps and rate limits do it.
TEST_F(ChunkPackerTest, DeliversInPiecesWithoutLosingTheWaitHandle) {
  StreamBulkTransport near(std::move(near_), {}, CompressionMode::kAlways);
  const std::vector<std::byte> zeros(256u << 10);
  ASSERT_TRUE(near.send({3, 256u << 10, 0}, {zeros}, Use::kCopied));
  BulkHeader header{};
  ASSERT_GT(far_->try_receive_header(header), 0);
  std::vector<std::byte> piece(1000, std::byte{1});
  for (std::size_t left = header.size; left != 0;) {
    pollfd wait{far_->wait_handle(), POLLIN, 0};
    ASSERT_EQ(::poll(&wait, 1, 0), 1) << left << " bytes are left, and nobody would know";
    const std::ptrdiff_t count = far_->try_receive({MutableBytes(piece).first(std::min(left, piece.size()))});
    ASSERT_GT(count, 0);
    left -= static_cast<std::size_t>(count);
  }
  EXPECT_EQ(piece.front(), std::byte{0});
  EXPECT_EQ(far_->try_receive_header(header), -1);
}

}  // namespace
}  // namespace remotecl
