// Rows with gaps, which are packed on the wire and pass through little memory on the way.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "client/session/channel_fixture.h"

namespace remotecl::testing {
namespace {

class RowTransferTest : public ChannelTest {
 protected:
  // More than the pieces that are in memory at a time, and no multiple of anything.
  static constexpr Rows kRows{{1013, 997, 11}, 1021, 1021 * 1009};

  RowTransferTest() : ChannelTest(1) {}

  Connection& bulk() { return channel(0); }
  std::vector<std::byte> noise(std::uint64_t size) {
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_());
    return bytes;
  }
  TransferRef begin_receive() {
    return session_->begin_receive(0, memory_.data(), kRows.size(), note_end(), nullptr, kRows);
  }
  TransferRef begin_send() {
    return session_->begin_send(0, memory_.data(), kRows.size(), note_end(), nullptr, false, kRows);
  }
  std::vector<std::byte> packed() const {
    std::vector<std::byte> bytes(kRows.size());
    kRows.pack(memory_.data(), 0, bytes);
    return bytes;
  }

  std::mt19937 random_{7};
  std::vector<std::byte> memory_ = noise(kRows.span());
};

// Whatever sizes the server chooses, one of them larger than the memory that the bytes pass through.
TEST_F(RowTransferTest, ChunksOfAnySizeComeToTheirRows) {
  const std::vector<std::byte> bytes = noise(kRows.size()), before = memory_;
  const TransferRef read = begin_receive();
  std::thread server([&] {
    std::mt19937 random{8};
    for (std::uint64_t at = 0; at < bytes.size();) {
      const std::uint64_t size =
          std::min<std::uint64_t>(at == 0 ? 5'000'011 : 1 + random() % 700'000, bytes.size() - at);
      begin_chunk(0, read->id, size);
      bulk().write(Bytes(bytes).subspan(at, size / 2));
      bulk().write(Bytes(bytes).subspan(at + size / 2, size - size / 2));
      at += size;
    }
  });
  EXPECT_TRUE(await(read));
  server.join();
  EXPECT_EQ(ended(1), 1);
  EXPECT_EQ(status_, CL_COMPLETE);
  EXPECT_TRUE(packed() == bytes);
  std::vector<std::byte> old(kRows.size());
  kRows.pack(before.data(), 0, old);
  kRows.unpack(old, memory_.data(), 0);
  EXPECT_TRUE(memory_ == before) << "gaps have changed";
}

TEST_F(RowTransferTest, NothingIsWrittenAfterAFailure) {
  const std::vector<std::byte> bytes = noise(kRows.size());
  const TransferRef read = begin_receive();
  begin_chunk(0, read->id, 1'000'000);
  bulk().write(Bytes(bytes).first(300'000));
  ASSERT_TRUE(session_->wait([&] { return read->moved == 300'000; }));
  server_.send(CommandFailed{1, 0, -5, read->id});
  ASSERT_TRUE(await(read));
  EXPECT_EQ(status_, -5);
  const std::vector<std::byte> then = memory_;
  bulk().write(Bytes(bytes).subspan(300'000, 700'000));
  std::vector<std::byte> next_memory(100'000);
  const TransferRef next = session_->begin_receive(0, next_memory.data(), next_memory.size(), nullptr, nullptr);
  begin_chunk(0, next->id, next_memory.size());
  bulk().write(Bytes(bytes).first(next_memory.size()));
  ASSERT_TRUE(await(next));
  EXPECT_TRUE(std::equal(next_memory.begin(), next_memory.end(), bytes.begin()));
  EXPECT_TRUE(memory_ == then);
}

TEST_F(RowTransferTest, TheEndOfTheServerIsTheEndOfARead) {
  const TransferRef read = begin_receive();
  begin_chunk(0, read->id, 3'000'000);
  bulk().write(Bytes(noise(2'500'000)));
  bulk().shutdown();
  EXPECT_TRUE(becomes_lost());
  EXPECT_EQ(ended(1), 1);
  EXPECT_EQ(status_, CL_DEVICE_NOT_AVAILABLE);
}

// The bytes are those at the time of sending: they are not copied before the server asks for them.
TEST_F(RowTransferTest, RowsAreSentInPieces) {
  const TransferRef write = begin_send();
  std::ranges::copy(noise(kRows.span()), memory_.begin());
  session_->add_interest();
  server_.send(PullTransfer{write->id});
  std::vector<std::byte> received(kRows.size());
  for (std::uint64_t at = 0; at < received.size();) {
    std::array<std::byte, kBulkHeaderSize> bytes;
    ASSERT_TRUE(bulk().read_exactly(bytes));
    const auto header = decode_frame<BulkHeader>(bytes);
    ASSERT_EQ(header.transfer, write->id);
    ASSERT_EQ(header.status, 0);
    ASSERT_LE(header.size, std::min<std::uint64_t>(kStagingSlot, received.size() - at));
    ASSERT_TRUE(bulk().read_exactly(MutableBytes(received).subspan(at, header.size)));
    at += header.size;
  }
  EXPECT_TRUE(await(write));
  session_->drop_interest();
  EXPECT_EQ(ended(1), 1);
  EXPECT_EQ(status_, CL_COMPLETE);
  EXPECT_TRUE(received == packed());
}

TEST_F(RowTransferTest, TheEndOfTheServerIsTheEndOfAWrite) {
  const TransferRef write = begin_send();
  session_->add_interest();
  server_.send(PullTransfer{write->id});
  std::vector<std::byte> some(3'000'000);
  ASSERT_TRUE(bulk().read_exactly(some));
  bulk().shutdown();
  EXPECT_TRUE(becomes_lost());
  EXPECT_EQ(ended(1), 1);
  EXPECT_TRUE(write->ended());
  EXPECT_EQ(status_, CL_DEVICE_NOT_AVAILABLE);
}

// A read that is small enough comes with its report.
TEST_F(RowTransferTest, BytesInAMessageComeToTheirRows) {
  const Rows rows{{10, 3, 2}, 16, 64};
  std::vector<std::byte> memory(rows.span()), back(rows.size());
  const std::vector<std::byte> bytes = noise(rows.size());
  const TransferRef read = session_->begin_receive(0, memory.data(), rows.size(), nullptr, nullptr, rows);
  server_.send(ReadData{read->id, bytes});
  ASSERT_TRUE(await(read));
  rows.pack(memory.data(), 0, back);
  EXPECT_EQ(back, bytes);
  EXPECT_EQ(memory[10], std::byte{});
}

}  // namespace
}  // namespace remotecl::testing
