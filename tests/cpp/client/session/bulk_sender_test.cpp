#include "runtime/client/session/bulk_sender.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "client/session/fake_channel_session.h"
#include "fakes/idle_bulk_transport.h"

namespace remotecl::testing {
namespace {

// Calls a function where it would copy what it has borrowed.
class FakeTransport final : public IdleBulkTransport {
 public:
  std::uint64_t received = 0;
  std::function<void(std::uint64_t position)> copying;

  bool send(const BulkHeader&, const BulkSource& bytes, Use) override {
    sent_ += bytes.bytes.size();
    return true;
  }
  std::uint64_t bytes_sent() const override { return sent_; }
  std::uint64_t completed() const override { return received; }
  void reclaim(std::uint64_t position) override { copying(position); }

 private:
  std::uint64_t sent_ = 0;
};

// The end of a transfer gives its memory back to the application, or frees its packed rows.
TEST(BulkSenderTest, NoTransferEndsWhileWhatItHasLentMayBeCopied) {
  FakeChannelSession session;
  FakeTransport transport;
  BulkSender sender(session);
  sender.use(transport);
  std::vector<std::byte> memory(16u << 20);

  const auto first = std::make_shared<ClientTransfer>();
  first->id = 1;
  first->size = 1000;
  first->memory = memory.data();
  ASSERT_TRUE(sender.send(first));

  const auto rows = std::make_shared<ClientTransfer>();  // more than is packed at a time
  rows->id = 2;
  rows->rows = Rows{{1000, 12'000, 1}, 1024, 0};
  rows->size = 12'000'000;
  rows->memory = memory.data();
  bool has_copied = false;
  transport.copying = [&](std::uint64_t position) {
    has_copied = true;
    const std::vector<TransferId> before = session.ended;
    transport.received = position;  // the other side's report, which another thread reads
    sender.end_received();
    EXPECT_EQ(session.ended, before);
  };
  ASSERT_TRUE(sender.send(rows));
  EXPECT_TRUE(has_copied);
  EXPECT_EQ(session.ended, std::vector<TransferId>{1});
  transport.received = transport.bytes_sent();
  sender.end_received();
  EXPECT_EQ(session.ended, (std::vector<TransferId>{1, 2}));
  sender.release();
}

// The caller of a blocking write goes on when it was copied; that of another one gets its memory back when the server
// has the bytes.
TEST(BulkSenderTest, APushEndsWhenItWasCopiedOrReceived) {
  FakeChannelSession session;
  FakeTransport transport;
  BulkSender sender(session);
  sender.use(transport);
  std::vector<std::byte> memory(3u << 20);
  const auto push = [&](TransferId id, bool is_copied) {
    const auto transfer = std::make_shared<ClientTransfer>();
    transfer->id = id;
    transfer->size = memory.size();
    transfer->memory = memory.data();
    transfer->is_pushed = true;
    transfer->is_copied = is_copied;
    ASSERT_TRUE(sender.send(transfer));
  };
  push(1, false);
  push(2, true);
  EXPECT_EQ(session.ended, std::vector<TransferId>{2});
  transport.received = memory.size();
  EXPECT_TRUE(sender.end_received());
  EXPECT_EQ(session.ended, (std::vector<TransferId>{2, 1}));
  EXPECT_FALSE(sender.end_received());
  sender.release();
}

// Otherwise a thread that waits for one of them sleeps on, because its own look found nothing that has ended.
TEST(BulkSenderTest, WhoEndsTheTransfersOfOthersWakesThem) {
  FakeChannelSession session;
  FakeTransport transport;
  BulkSender sender(session);
  sender.use(transport);
  std::vector<std::byte> memory(1000);
  const auto transfer = [&memory](TransferId id) {
    auto made = std::make_shared<ClientTransfer>();
    made->id = id;
    made->size = memory.size();
    made->memory = memory.data();
    return made;
  };
  ASSERT_TRUE(sender.send(transfer(1)));
  EXPECT_TRUE(session.ended.empty());
  transport.received = 2 * memory.size();  // the report about both comes before the second one is noted
  ASSERT_TRUE(sender.send(transfer(2)));
  EXPECT_EQ(session.ended, (std::vector<TransferId>{1, 2}));
  EXPECT_EQ(session.woken_after, 2u);
  sender.release();
}

constexpr std::size_t kChunk = 128u << 10;

// A thin link: notes what it sends, and calls a function with the transfer of each chunk.
class ThinTransport final : public IdleBulkTransport {
 public:
  std::function<void(TransferId)> sending = [](TransferId) {};
  bool alternates = true;

  bool send(const BulkHeader& header, const BulkSource& bytes, Use) override {
    sending(header.transfer);
    const std::lock_guard lock(mutex_);
    order_.insert(order_.end(), bytes.bytes.size() / kChunk, header.transfer);
    auto& all = bytes_[header.transfer];
    all.insert(all.end(), bytes.bytes.begin(), bytes.bytes.end());
    sent_ += bytes.bytes.size();
    changed_.notify_all();
    return true;
  }
  std::size_t chunk_size() const override { return kChunk; }
  bool may_alternate() const override { return alternates; }
  std::uint64_t bytes_sent() const override { return sent_; }

  // The transfer of each `kChunk` bytes, once there are so many.
  std::vector<TransferId> order(std::uint64_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return sent_ >= bytes; });
    return order_;
  }
  std::vector<std::byte> bytes(TransferId transfer) {
    const std::lock_guard lock(mutex_);
    return bytes_[transfer];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<TransferId> order_;
  std::map<TransferId, std::vector<std::byte>> bytes_;
  std::atomic<std::uint64_t> sent_{0};
};

// Which transfers pass a larger one.
class BulkSenderPassingTest : public ::testing::Test {
 protected:
  static constexpr TransferId kLarge = 1;
  static constexpr std::size_t kLargeSize = 8u << 20;

  BulkSenderPassingTest() {
    for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<std::byte>(i * 7 / 5);
    sender_.use(transport_);
  }
  ~BulkSenderPassingTest() override {
    sender_.stop();
    sender_.release();
  }

  TransferRef transfer(TransferId id, std::size_t size) {
    auto made = std::make_shared<ClientTransfer>();
    made->id = id;
    made->sends = true;
    made->size = size;
    made->memory = memory_.data();
    return made;
  }
  void post(TransferId id, std::size_t size) { sender_.post(transfer(id, size)); }
  // Calls the function with the second chunk of the large one. The next few chunks take so long.
  void in_second_chunk(const std::function<void()>& others, std::chrono::milliseconds pause = {}) {
    transport_.sending = [others, pause, chunks = 0](TransferId id) mutable {
      if (id != kLarge) return;
      if (++chunks == 2) others();
      if (chunks > 2 && chunks < 7) std::this_thread::sleep_for(pause);
    };
  }
  // Where the last bytes of a transfer are in the order.
  static std::size_t end_of(TransferId id, const std::vector<TransferId>& order) {
    return static_cast<std::size_t>(order.rend() - std::find(order.rbegin(), order.rend(), id));
  }
  Bytes sent_bytes(std::size_t size) const { return Bytes(memory_).first(size); }

  std::vector<std::byte> memory_ = std::vector<std::byte>(kLargeSize + kLargeSize / 8);
  FakeChannelSession session_;
  ThinTransport transport_;
  BulkSender sender_{session_};
};

TEST_F(BulkSenderPassingTest, SmallTransferPassesALargeOne) {
  in_second_chunk([&] { post(2, 2 * kChunk); });
  post(kLarge, kLargeSize);
  const auto order = transport_.order(kLargeSize + 2 * kChunk);
  const std::vector<TransferId> begin(order.begin(), order.begin() + 5);
  EXPECT_EQ(begin, (std::vector<TransferId>{kLarge, kLarge, 2, 2, kLarge}));
  EXPECT_TRUE(std::ranges::equal(transport_.bytes(kLarge), sent_bytes(kLargeSize)));
  EXPECT_TRUE(std::ranges::equal(transport_.bytes(2), sent_bytes(2 * kChunk)));
}

TEST_F(BulkSenderPassingTest, SmallTransferPassesALargeOneOfAThreadThatWaits) {
  in_second_chunk([&] { post(2, 2 * kChunk); }, std::chrono::milliseconds(20));  // its thread has yet to start
  ASSERT_TRUE(sender_.send(transfer(kLarge, kLargeSize)));
  EXPECT_LE(end_of(2, transport_.order(kLargeSize + 2 * kChunk)), 7u);
}

TEST_F(BulkSenderPassingTest, ItPassesRowsAndAnotherLargeOneToo) {
  in_second_chunk([&] {
    post(3, kLargeSize);
    post(2, kChunk);
  });
  const TransferRef rows = transfer(kLarge, kLargeSize);
  rows->rows = Rows{{1u << 10, kLargeSize >> 10, 1}, (1u << 10) + 100, 0};
  sender_.post(rows);
  EXPECT_LE(end_of(2, transport_.order(2 * kLargeSize + kChunk)), 4u);
  std::vector<std::byte> packed(kLargeSize);
  rows->rows->pack(memory_.data(), 0, packed);
  EXPECT_EQ(transport_.bytes(kLarge), packed);
}

TEST_F(BulkSenderPassingTest, OnlyWhatIsFarSmallerPasses) {
  in_second_chunk([&] {
    post(2, kLargeSize / 4);
    post(3, 2u << 20);
  });
  post(kLarge, kLargeSize);
  EXPECT_EQ(end_of(kLarge, transport_.order(kLargeSize + kLargeSize / 4 + (2u << 20))), kLargeSize / kChunk);
}

TEST_F(BulkSenderPassingTest, NothingPassesWhereThatCosts) {
  transport_.alternates = false;
  BulkSender other(session_);
  other.use(transport_);
  in_second_chunk([&] { other.post(transfer(2, kChunk)); });
  other.post(transfer(kLarge, kLargeSize));
  EXPECT_EQ(end_of(kLarge, transport_.order(kLargeSize + kChunk)), kLargeSize / kChunk);
  other.stop();
  other.release();
}

TEST_F(BulkSenderPassingTest, StreamOfSmallTransfersLeavesTheLargeOneHalfOfTheLink) {
  std::size_t chunks = 0;
  std::atomic<std::size_t> count = 0;
  transport_.sending = [&](TransferId id) {
    // There are always more of them, until the large one is sent.
    chunks += id == kLarge ? 1 : 0;
    if (chunks * kChunk < kLargeSize) post(10 + ++count, 2 * kChunk);
  };
  post(kLarge, kLargeSize);
  transport_.order(kLargeSize);
  const auto order = transport_.order(kLargeSize + count * 2 * kChunk);
  EXPECT_LE(end_of(kLarge, order), 2 * kLargeSize / kChunk + 1);
  EXPECT_GE(end_of(kLarge, order), 3 * kLargeSize / kChunk / 2);  // and they have the other half, until little is left
}

// A thread that locks a mutex at once again lets no other one have it.
TEST_F(BulkSenderPassingTest, ThreadsTakeTurns) {
  std::atomic<bool> is_waiting{false};
  std::thread other([&] {
    while (!is_waiting) std::this_thread::yield();
    const TransferRef pushed = transfer(2, 2 * kChunk);
    pushed->is_pushed = true;
    EXPECT_TRUE(sender_.send(pushed));
  });
  std::size_t chunks = 0;
  transport_.sending = [&](TransferId id) {
    if (id != kLarge) return;
    // The other thread asks during the second chunk.
    if (++chunks == 2) is_waiting = true;
    if (chunks <= 3) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  ASSERT_TRUE(sender_.send(transfer(kLarge, kLargeSize)));
  other.join();
  EXPECT_LE(end_of(2, transport_.order(kLargeSize + 2 * kChunk)), 4u);
}

}  // namespace
}  // namespace remotecl::testing
