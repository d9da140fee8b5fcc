// Which transfers pass a larger one.
#include <atomic>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "fakes/idle_bulk_transport.h"
#include "server/fixture.h"
#include "server/transfer/bulk.h"
#include "server/transfer/session_transfers.h"

namespace remotecl::testing {
namespace {

using namespace server;

constexpr std::uint64_t kChunk = 128u << 10;

class PlainRead final : public OutgoingTransfer {
 public:
  PlainRead(TransferId id, Queue& queue, std::uint64_t size, bool may_pass, std::set<StagingSet*>& stagings)
      : OutgoingTransfer(id, queue, nullptr, 0, size), bytes_(size), may_pass_(may_pass), stagings_(stagings) {}
  bool send(BulkTransport& transport, StagingSet& staging, const Between& between) override {
    stagings_.insert(&staging);
    return send_chunks(transport, {bytes_}, between);
  }
  bool may_pass() const override { return may_pass_; }
  cl_int finish(Native<cl_event>&) override { return CL_SUCCESS; }

 private:
  const std::vector<std::byte> bytes_;
  const bool may_pass_;
  std::set<StagingSet*>& stagings_;
};

// Notes whose chunks it sends, and calls a function with each.
class OrderingTransport final : public IdleBulkTransport {
 public:
  std::function<void(const BulkHeader&)> sending;
  std::vector<TransferId> order;
  bool alternates = true, is_over = false;

  bool send(const BulkHeader& header, const BulkSource&, Use) override {
    if (is_over) return false;
    order.push_back(header.transfer);
    if (sending) sending(header);
    return !is_over;
  }
  std::size_t chunk_size() const override { return kChunk; }
  bool may_alternate() const override { return alternates; }
};

class BulkSenderTest : public ServerTest {
 protected:
  static constexpr TransferId kLarge = 1;
  static constexpr std::uint64_t kLargeSize = 8u << 20;

  BulkSenderTest() { sender_.connect(transport_); }
  ~BulkSenderTest() override { sender_.stop(); }

  void post(TransferId id, std::uint64_t size, bool may_pass = true) {
    sender_.post(make_ref<PlainRead>(id, *queue_, size, may_pass, stagings_));
  }
  // Sends the large one, and posts others with its second chunk. All of them are sent then.
  void send_large(std::size_t count, const std::function<void()>& others) {
    transport_.sending = [&, chunks = 0](const BulkHeader& header) mutable {
      if (header.transfer == kLarge && ++chunks == 2) others();
    };
    post(kLarge, kLargeSize);
    await(count);
  }
  void await(std::size_t count) {
    ASSERT_TRUE(eventually([&] { return sender_.transfers() == count; }));
    sender_.stop();  // what its thread has noted can be read
  }
  // Where the last chunk of a transfer is in the order.
  std::size_t end_of(TransferId id) const {
    return static_cast<std::size_t>(transport_.order.rend() -
                                    std::find(transport_.order.rbegin(), transport_.order.rend(), id));
  }

  SessionTransfers transfers_{MemoryLimits{.host = 1u << 30}};
  Ref<Queue> queue_ =
      make_ref<Queue>(1, *server_.driver().device(0), 0, make_ref<BlockPool>(CompletionNotifier()), nullptr);
  std::set<StagingSet*> stagings_;
  std::atomic<bool> is_lost_{false};
  OrderingTransport transport_;
  BulkSender sender_{transfers_.table, [this](const std::string& /*lack*/) { is_lost_ = true; }};
};

TEST_F(BulkSenderTest, SmallTransferPassesALargeOneWithStagingMemoryOfItsOwn) {
  send_large(2, [&] { post(2, 2 * kChunk); });
  const std::vector<TransferId> begin(transport_.order.begin(), transport_.order.begin() + 5);
  EXPECT_EQ(begin, (std::vector<TransferId>{kLarge, kLarge, 2, 2, kLarge}));
  EXPECT_EQ(transport_.order.size(), kLargeSize / kChunk + 2);
  EXPECT_EQ(stagings_.size(), 2u);
}

TEST_F(BulkSenderTest, TransferThatMayNotPassIsSentAfterTheLargeOne) {
  send_large(3, [&] {
    post(2, kChunk, false);
    post(3, kChunk);  // passes both
  });
  EXPECT_EQ(end_of(3), 3u);
  EXPECT_EQ(end_of(kLarge) + 1, end_of(2));
}

TEST_F(BulkSenderTest, OnlyWhatIsFarSmallerPasses) {
  send_large(3, [&] {
    post(2, kLargeSize / 4);
    post(3, 2u << 20);
  });
  EXPECT_EQ(end_of(kLarge), kLargeSize / kChunk);
}

TEST_F(BulkSenderTest, StreamOfSmallTransfersLeavesTheLargeOneHalfOfTheLink) {
  std::atomic<TransferId> last = 10;
  std::size_t chunks = 0;
  transport_.sending = [&](const BulkHeader& header) {
    // There are always more of them, until the large one is sent.
    chunks += header.transfer == kLarge ? 1 : 0;
    if (chunks * kChunk < kLargeSize) post(++last, 2 * kChunk);
  };
  post(kLarge, kLargeSize);
  ASSERT_TRUE(eventually([&] { return sender_.transfers() == last - 10 + 1; }));
  sender_.stop();
  EXPECT_LE(end_of(kLarge), 2 * kLargeSize / kChunk + 1);
  EXPECT_GE(end_of(kLarge), 3 * kLargeSize / kChunk / 2);  // and they have the other half, until little is left
}

TEST_F(BulkSenderTest, NothingPassesWhereThatCosts) {
  transport_.alternates = false;
  send_large(2, [&] { post(2, kChunk); });
  EXPECT_EQ(end_of(kLarge), kLargeSize / kChunk);
}

TEST_F(BulkSenderTest, WhatWasNotSentComesBackAtTheEnd) {
  transport_.sending = [&, chunks = 0](const BulkHeader& header) mutable {
    if (header.transfer == kLarge && ++chunks == 2) {
      post(2, kLargeSize);
      post(3, kChunk);
    }
    transport_.is_over = header.transfer == 3;
  };
  post(kLarge, kLargeSize);
  ASSERT_TRUE(eventually([&] { return is_lost_.load(); }));
  std::vector<TransferId> unsent;
  for (const auto& transfer : sender_.stop()) unsent.push_back(transfer->id());
  EXPECT_EQ(unsent, (std::vector<TransferId>{kLarge, 3, 2}));
  EXPECT_EQ(sender_.transfers(), 0u);
}

}  // namespace
}  // namespace remotecl::testing
