// Bulk data by RDMA beside a stream, and over the stream alone when RDMA is lost.
#include "extras/rdma/rdma_bulk_transport.h"
#include "rdma_pair.h"
#include "runtime/transport/bulk/stream_bulk_transport.h"
#include "runtime/transport/stream/resumable_connection.h"
#include "runtime/transport/tcp/loopback.h"
#include "transport/bulk_transport_suite.h"

namespace remotecl::testing {
namespace {

using Use = BulkTransport::Use;

std::unique_ptr<Connection> resumable(std::unique_ptr<Connection> carrier) {
  ResumableConnection::Hooks hooks;
  hooks.acknowledge = [](std::uint64_t) {};
  return std::make_unique<ResumableConnection>(std::move(carrier), 0ms, std::move(hooks));
}

// Both ends over streams of this process, at first without a channel.
struct RdmaBulkPair {
  RdmaBulkPair() {
    auto [first, second] = loopback::make_pair();
    streams[0] = std::make_unique<StreamBulkTransport>(resumable(std::move(first)));
    streams[1] = std::make_unique<StreamBulkTransport>(resumable(std::move(second)));
  }
  void connect(std::uint32_t number) {
    RdmaPair pair;
    near_slot->put(std::move(pair.near), number);
    far_slot->put(std::move(pair.far), number);
  }
  BulkPair take() {
    return {std::make_unique<RdmaBulkTransport>(std::move(streams[0]), near_slot),
            std::make_unique<RdmaBulkTransport>(std::move(streams[1]), far_slot)};
  }

  std::array<std::unique_ptr<BulkTransport>, 2> streams;
  std::shared_ptr<RdmaSlot> near_slot = std::make_shared<RdmaSlot>();
  std::shared_ptr<RdmaSlot> far_slot = std::make_shared<RdmaSlot>();
};

struct WithoutChannel {
  static void skip_if_missing() {}
  static BulkPair make() { return RdmaBulkPair().take(); }
};
struct WithChannel {
  static void skip_if_missing() { skip_without_rdma(); }
  static BulkPair make() {
    RdmaBulkPair pair;
    pair.connect(1);
    return pair.take();
  }
};
// The sender's device has lost it, and nobody knows.
struct WithLostChannel : WithChannel {
  static BulkPair make() {
    RdmaBulkPair pair;
    pair.connect(1);
    pair.near_slot->get().channel->shutdown();
    return pair.take();
  }
};
// Only this side has it yet, and the other one will never get it.
struct WithHalfAChannel : WithChannel {
  static BulkPair make() {
    RdmaBulkPair pair;
    RdmaPair channels;
    pair.near_slot->put(std::move(channels.near), 1);
    return pair.take();
  }
};
using Kinds = ::testing::Types<WithoutChannel, WithChannel, WithLostChannel, WithHalfAChannel>;
INSTANTIATE_TYPED_TEST_SUITE_P(Rdma, BulkTransportTest, Kinds);

class RdmaBulkTest : public RdmaTest {
 protected:
  static constexpr std::size_t kChunk = 64u << 10;
  static constexpr std::size_t kChunks = 24;

  static bool send(BulkTransport& transport, std::uint64_t transfer, std::vector<std::byte> bytes) {
    const auto registration = transport.register_memory(bytes);
    const BulkSource source{bytes, registration.get()};
    for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
      if (!transport.send({transfer, kChunk, 0}, source.part(at, kChunk), Use::kBorrowed)) return false;
    }
    transport.settle();
    return true;
  }
  // Returns how many bytes of the memory arrived; `after` is called after each chunk.
  static std::size_t receive(BulkTransport& transport, std::uint64_t transfer, MutableBytes to,
                             const std::function<void(std::size_t)>& after) {
    const auto registration = transport.register_memory(to);
    const BulkDestination whole{to, registration.get()};
    transport.announce(transfer, whole);
    std::size_t at = 0;
    while (at < to.size()) {
      BulkHeader header{};
      if (!transport.receive_header(header) || header.transfer != transfer || header.size > to.size() - at) break;
      if (!transport.receive(whole.part(at, header.size))) break;
      at += header.size;
      after(at);
    }
    return at;
  }
};

TEST_F(RdmaBulkTest, TheCardMovesTheBytes) {
  RdmaBulkPair pair;
  pair.connect(1);
  const auto [near, far] = pair.take();
  const auto bytes = pattern(kChunks * kChunk, 1);
  std::vector<std::byte> got(bytes.size());
  std::thread sender([&, &from = *near] { EXPECT_TRUE(send(from, 1, bytes)); });
  EXPECT_EQ(receive(*far, 1, got, [](std::size_t) {}), got.size());
  sender.join();
  EXPECT_EQ(got, bytes);
  EXPECT_EQ(near->rdma().bytes_sent, bytes.size());
  EXPECT_EQ(far->rdma().bytes_received, bytes.size());
  EXPECT_EQ(near->sent_by(), TransportKind::kRdma);
  EXPECT_EQ(far->received_by(), TransportKind::kRdma);
  EXPECT_EQ(near->completed(), near->bytes_sent());
  EXPECT_LT(near->bytes_sent(), kChunks * 32);
  for (const auto& slot : {pair.near_slot, pair.far_slot}) {
    slot->drop(slot->get().channel);
    EXPECT_FALSE(slot->was_in_vain());
  }
}

// At either side, in the middle of a transfer for the receiver.
TEST_F(RdmaBulkTest, StagingThatMayNotBeLockedLeavesTheBytesToTheStream) {
  for (const bool is_sender : {true, false}) {
    RdmaBulkPair pair;
    auto& slot = is_sender ? pair.near_slot : pair.far_slot;
    slot = std::make_shared<RdmaSlot>(RdmaSlot::Report(), [](std::uint64_t) { return nullptr; });
    pair.connect(1);
    const auto [near, far] = pair.take();
    auto bytes = pattern(kChunks * kChunk, 4);
    std::vector<std::byte> got(bytes.size());
    std::thread sender([&, &from = *near] {
      const auto registration = from.register_staging(bytes);
      const BulkSource source{bytes, registration.get()};
      for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
        EXPECT_TRUE(from.send({1, kChunk, 0}, source.part(at, kChunk), Use::kBorrowed));
      }
      from.settle();
    });
    const auto registration = far->register_staging(got);
    const BulkDestination to{got, registration.get()};
    for (std::size_t at = 0; at < got.size(); at += kChunk) {
      BulkHeader header{};
      ASSERT_TRUE(far->receive_header(header));
      ASSERT_TRUE(far->receive(to.part(at, kChunk)));
    }
    sender.join();
    EXPECT_EQ(got, bytes);
    EXPECT_EQ(near->sent_by(), TransportKind::kTcp);
    EXPECT_EQ(far->received_by(), TransportKind::kTcp);
    EXPECT_EQ(slot->state().kind, RdmaState::Kind::kUnavailable);
  }
}

// The sender will not repeat it, and the receiver has not even seen that it comes by RDMA.
TEST_F(RdmaBulkTest, WhatWasDeliveredBeforeALossIsReceivedAfterIt) {
  for (const std::uint32_t successors : {0u, 1u, 3u}) {
    RdmaBulkPair pair;
    pair.connect(1);
    const auto [near, far] = pair.take();
    const auto bytes = pattern(kChunk, successors);
    std::vector<std::byte> got(bytes.size());
    const auto registration = far->register_memory(got);
    const BulkDestination to{got, registration.get()};
    far->announce(1, to);
    ASSERT_TRUE(send(*near, 1, bytes));
    EXPECT_EQ(near->rdma().bytes_sent, bytes.size());
    pair.far_slot->drop(pair.far_slot->get().channel);
    for (std::uint32_t number = 2; number < 2 + successors; ++number) pair.connect(number);
    BulkHeader header{};
    ASSERT_TRUE(far->receive_header(header));
    for (std::size_t at = 0; at < got.size();) {
      ASSERT_TRUE(await(*far)) << "after " << at << " bytes";
      const std::ptrdiff_t count = far->try_receive(to.part(at, got.size() - at));
      ASSERT_NE(count, 0);
      if (count > 0) at += static_cast<std::size_t>(count);
    }
    EXPECT_EQ(got, bytes);
    EXPECT_EQ(far->rdma().bytes_received, bytes.size());
  }
}

// A queue pair goes into error in the middle of a transfer, at either side; later there is another one.
TEST_F(RdmaBulkTest, ALostChannelCostsNoByteAndRepeatsNone) {
  for (std::uint32_t round = 0; round < 12; ++round) {
    RdmaBulkPair pair;
    pair.connect(1);
    const auto [near, far] = pair.take();
    auto& loser = round % 2 == 0 ? pair.near_slot : pair.far_slot;
    for (std::uint64_t transfer = 1; transfer <= 3; ++transfer) {
      const auto bytes = pattern(kChunks * kChunk, round + static_cast<std::uint32_t>(transfer));
      std::vector<std::byte> got(bytes.size());
      std::thread sender([&, &from = *near] { EXPECT_TRUE(send(from, transfer, bytes)); });
      const std::size_t where = (1 + 3 * round % kChunks) * kChunk;
      const auto lose = [&](std::size_t at) {
        const auto channel = loser->get().channel;
        if (transfer == 1 && at == where && channel != nullptr) channel->shutdown();
      };
      EXPECT_EQ(receive(*far, transfer, got, lose), got.size()) << round;
      sender.join();
      EXPECT_EQ(got, bytes) << round << ", transfer " << transfer;
      if (transfer == 2) pair.connect(2);
    }
    EXPECT_GE(near->rdma().bytes_sent, kChunks * kChunk);  // at least the third transfer
    EXPECT_GT(pair.near_slot->state().losses, 0u);
  }
}

TEST_F(RdmaBulkTest, BothDirectionsWhileChannelsComeAndGo) {
  RdmaBulkPair pair;
  pair.connect(1);
  const auto [near, far] = pair.take();
  constexpr std::uint64_t kTransfers = 6;
  const auto bytes = pattern(kChunks * kChunk, 5);
  const auto send_all = [&](BulkTransport& from) {
    for (std::uint64_t i = 1; i <= kTransfers; ++i) EXPECT_TRUE(send(from, i, bytes));
  };
  const auto receive_all = [&](BulkTransport& to) {
    for (std::uint64_t i = 1; i <= kTransfers; ++i) {
      std::vector<std::byte> got(bytes.size());
      ASSERT_EQ(receive(to, i, got, [](std::size_t) {}), got.size());
      EXPECT_EQ(got, bytes);
    }
  };
  std::vector<std::thread> threads;
  for (BulkTransport* const each : {near.get(), far.get()}) {
    threads.emplace_back([&, each] { send_all(*each); });
    threads.emplace_back([&, each] { receive_all(*each); });
  }
  for (std::uint32_t number = 2; number < 5; ++number) pair.connect(number);
  for (std::thread& thread : threads) thread.join();
}

// ---- Peers that break the rules. These need no device.

class RdmaBulkHostileTest : public ::testing::Test {
 protected:
  RdmaBulkHostileTest() {
    RdmaBulkPair pair;
    peer_ = std::move(pair.streams[0]);
    transport_ = std::make_unique<RdmaBulkTransport>(std::move(pair.streams[1]), pair.far_slot);
  }
  void say(std::int32_t kind, std::uint32_t number, std::uint32_t size, std::uint64_t transfer = 1) {
    EXPECT_TRUE(peer_->send({transfer, size, chunk_status(kind, number)}, {}, Use::kCopied));
  }
  void resend(std::uint32_t number, std::uint32_t size) {
    const std::vector<std::byte> bytes = bulk_pattern(size);
    EXPECT_TRUE(peer_->send({1, size, chunk_status(kResentChunk, number)}, {bytes}, Use::kCopied));
  }
  bool receive(std::size_t size) {
    got_.assign(size, std::byte{0});
    return transport_->receive({got_});
  }

  std::unique_ptr<BulkTransport> peer_, transport_;
  std::vector<std::byte> got_;
  BulkHeader header_{};
};

TEST_F(RdmaBulkHostileTest, ResentBytesTakeThePlaceOfThoseThatNeverCame) {
  say(kRdmaChunk, 1, 50'000);
  say(kRdmaChunk, 1, 40'000);
  resend(0, 50'000);
  resend(1, 40'000);
  for (const std::size_t size : {50'000u, 40'000u}) {
    ASSERT_TRUE(transport_->receive_header(header_));
    EXPECT_EQ(header_.size, size);
    EXPECT_EQ(header_.status, 0);
    ASSERT_TRUE(receive(size));
    EXPECT_EQ(got_, bulk_pattern(size));
  }
}

TEST_F(RdmaBulkHostileTest, WhoeverPollsSeesHeadersThatWereReadAhead) {
  for (int i = 0; i < 3; ++i) say(kRdmaChunk, 1, 40'000);
  for (std::uint32_t i = 0; i < 3; ++i) resend(i, 40'000);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(await(*transport_));
    while (transport_->try_receive_header(header_) < 0) ASSERT_TRUE(await(*transport_));
    for (std::size_t left = header_.size; left != 0;) {
      ASSERT_TRUE(await(*transport_));
      const std::ptrdiff_t count = transport_->try_discard(left);
      ASSERT_NE(count, 0);
      if (count > 0) left -= static_cast<std::size_t>(count);
    }
  }
}

TEST_F(RdmaBulkHostileTest, ARepetitionOfNothingEndsTheStream) {
  resend(0, 50'000);
  EXPECT_FALSE(transport_->receive_header(header_));
}

TEST_F(RdmaBulkHostileTest, ARepetitionThatLeavesOutAChunkEndsTheStream) {
  say(kRdmaChunk, 1, 50'000);
  say(kRdmaChunk, 1, 50'000);
  resend(1, 50'000);
  ASSERT_TRUE(transport_->receive_header(header_));
  EXPECT_FALSE(receive(50'000));
}

TEST_F(RdmaBulkHostileTest, ARepetitionOfAnotherSizeEndsTheStream) {
  say(kRdmaChunk, 1, 50'000);
  resend(0, 50'001);
  ASSERT_TRUE(transport_->receive_header(header_));
  EXPECT_FALSE(receive(50'000));
}

TEST_F(RdmaBulkHostileTest, OtherChunksInThePlaceOfMissingBytesEndTheStream) {
  say(kRdmaChunk, 1, 50'000);
  say(0, 0, 10, 2);
  ASSERT_TRUE(transport_->receive_header(header_));
  EXPECT_FALSE(receive(50'000));
}

TEST_F(RdmaBulkHostileTest, HeadersWithoutEndEndTheStream) {
  for (int i = 0; i < 260; ++i) say(kRdmaChunk, 1, 50'000);
  ASSERT_TRUE(transport_->receive_header(header_));
  EXPECT_FALSE(receive(50'000));
}

TEST_F(RdmaBulkHostileTest, AnEmptyChunkEndsTheStream) {
  say(kRdmaChunk, 1, 0);
  EXPECT_FALSE(transport_->receive_header(header_));
}

}  // namespace
}  // namespace remotecl::testing
