// What a process that looks sees of its own transfers and other work.
#include "runtime/client/session/operations.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <thread>
#include <vector>

#include "fakes/wire/wire_server.h"
#include "runtime/client/session/session.h"

namespace remotecl::testing {
namespace {

constexpr std::uint64_t kSize = 64u << 20;

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

class OperationsTest : public ::testing::Test {
 protected:
  OperationsTest() {
    server_.welcome_both(WireServer::accepted());
    session_ = std::make_unique<Session>(group_, ServerName{server_.address(), {}}, 0);
    server_.ready();
    session_->add_interest();
  }
  std::vector<Operation> list() const { return group_.operations.list(); }

  WireServer server_;
  SessionGroup group_;
  std::unique_ptr<Session> session_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(kSize);
};

TEST_F(OperationsTest, AnUploadIsSeenFromThePullToItsEnd) {
  const TransferRef transfer = session_->begin_send(0, memory_.data(), kSize, {}, nullptr);
  EXPECT_TRUE(list().empty()) << "nobody has asked for the bytes yet";
  server_.send(PullTransfer{transfer->id});
  ASSERT_TRUE(eventually([&] { return list().size() == 1; }));
  // The server takes one chunk, and then no more: the next ones do not fit into the system's memory.
  std::vector<std::byte> chunk(kBulkHeaderSize + kBulkChunkMax);
  ASSERT_TRUE(server_.bulk->read_exactly(chunk));
  ASSERT_TRUE(eventually([&] { return list().at(0).done >= kBulkChunkMax; }));
  const Operation seen = list().at(0);
  EXPECT_EQ(seen.kind, Operation::Kind::kUpload);
  EXPECT_EQ(seen.where, server_.address().text());
  EXPECT_EQ(seen.total, kSize);
  EXPECT_LT(seen.done, kSize);
  for (std::uint64_t at = kBulkChunkMax; at < kSize; at += kBulkChunkMax)
    ASSERT_TRUE(server_.bulk->read_exactly(chunk));
  EXPECT_TRUE(eventually([&] { return list().empty(); }));
  EXPECT_EQ(session_->traffic().bulk_sent, 1u);
  // Chunks are smaller until the link is known to be fast.
  const std::uint64_t overhead = session_->traffic().bulk_bytes_sent - kSize - kHelloSize;
  EXPECT_GE(overhead, kSize / kBulkChunkMax * kBulkHeaderSize);
  EXPECT_LE(overhead, kSize / kUploadChunk * kBulkHeaderSize);
}

TEST_F(OperationsTest, ADownloadIsSeenFromItsFirstByte) {
  const TransferRef transfer = session_->begin_receive(0, memory_.data(), 2 * kBulkChunkMax, {}, nullptr);
  EXPECT_TRUE(list().empty());
  const auto header = encode_frame<BulkHeader, kBulkHeaderSize>({transfer->id, kBulkChunkMax, 0});
  const std::vector<std::byte> chunk(kBulkChunkMax);
  ASSERT_TRUE(server_.bulk->write(Bytes(header), Bytes(chunk)));
  ASSERT_TRUE(eventually([&] { return list().size() == 1 && list().at(0).done == kBulkChunkMax; }));
  EXPECT_EQ(list().at(0).kind, Operation::Kind::kDownload);
  EXPECT_EQ(list().at(0).total, 2 * kBulkChunkMax);
  ASSERT_TRUE(server_.bulk->write(Bytes(header), Bytes(chunk)));
  EXPECT_TRUE(eventually([&] { return list().empty(); }));
  EXPECT_EQ(session_->traffic().bulk_received, 1u);
}

TEST_F(OperationsTest, SmallTransfersAreNotWorthIt) {
  const TransferRef transfer =
      session_->begin_receive(0, memory_.data(), Operations::kTransferSizeMin - 1, {}, nullptr);
  const auto header = encode_frame<BulkHeader, kBulkHeaderSize>({transfer->id, 4096, 0});
  ASSERT_TRUE(server_.bulk->write(Bytes(header), Bytes(memory_).first(4096)));
  ASSERT_TRUE(eventually([&] { return transfer->moved == 4096; }));
  EXPECT_TRUE(list().empty());
}

TEST_F(OperationsTest, LostTransfersAreNotUnderWay) {
  const TransferRef transfer = session_->begin_send(0, memory_.data(), kSize, {}, nullptr);
  server_.send(PullTransfer{transfer->id});
  ASSERT_TRUE(eventually([&] { return list().size() == 1; }));
  server_.control->shutdown();
  EXPECT_TRUE(eventually([&] { return list().empty(); }));
}

TEST(RunningOperationTest, OtherWorkIsSeenAsLongAsSomebodyHoldsIt) {
  Operations operations;
  {
    Operations::Running build(operations, Operation::Kind::kBuild, "a:1, b:2", 2);
    build.advance();
    const auto list = operations.list();
    ASSERT_EQ(list.size(), 1u);
    EXPECT_EQ(list[0].kind, Operation::Kind::kBuild);
    EXPECT_EQ(list[0].where, "a:1, b:2");
    EXPECT_EQ(list[0].done, 1u);
    EXPECT_EQ(list[0].total, 2u);
  }
  EXPECT_TRUE(operations.list().empty());
}

}  // namespace
}  // namespace remotecl::testing
