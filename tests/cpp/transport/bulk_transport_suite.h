// What every BulkTransport does: a typed suite, for a kind whose make() returns both ends.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/transport/bulk/bulk_transport.h"
#include "transport/pattern.h"

namespace remotecl {

using BulkPair = std::pair<std::unique_ptr<BulkTransport>, std::unique_ptr<BulkTransport>>;

inline std::vector<std::byte> bulk_pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = pattern_at(i);
  return bytes;
}

inline bool await(const BulkTransport& transport) {
  pollfd wait{transport.wait_handle(), POLLIN, 0};
  return ::poll(&wait, 1, 10'000) == 1;
}

template <class Kind>
class BulkTransportTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kChunk = 1u << 20;
  static constexpr std::size_t kSize = 3 * kChunk + 1000;

  void SetUp() override {
    Kind::skip_if_missing();
    if (::testing::Test::IsSkipped() || ::testing::Test::HasFatalFailure()) return;
    std::tie(near_, far_) = Kind::make();
  }
  // All of `bytes`, which change when they have been reclaimed.
  void send(std::uint64_t transfer, std::vector<std::byte> bytes, BulkTransport::Use use) {
    const auto registration = near_->register_memory(bytes);
    const BulkSource source{bytes, registration.get()};
    for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
      const std::size_t size = std::min(kChunk, bytes.size() - at);
      ASSERT_TRUE(near_->send({transfer, static_cast<std::uint32_t>(size), 0}, source.part(at, size), use));
    }
    near_->reclaim(near_->bytes_sent());
    if (use == BulkTransport::Use::kBorrowed) std::fill(bytes.begin(), bytes.end(), std::byte{0});
  }

  std::unique_ptr<BulkTransport> near_, far_;
};
TYPED_TEST_SUITE_P(BulkTransportTest);

TYPED_TEST_P(BulkTransportTest, ChunksArriveWhereTheReceiverSays) {
  for (const auto use : {BulkTransport::Use::kCopied, BulkTransport::Use::kBorrowed}) {
    std::thread sender([&] { this->send(7, bulk_pattern(this->kSize), use); });
    std::vector<std::byte> got(this->kSize);
    const auto registration = this->far_->register_memory(got);
    const BulkDestination to{got, registration.get()};
    this->far_->announce(7, to);
    for (std::size_t at = 0; at < this->kSize;) {
      BulkHeader header{};
      const bool is_there = this->far_->receive_header(header);
      EXPECT_TRUE(is_there && header.transfer == 7 && header.status == 0);
      if (!is_there || header.size > this->kSize - at || !this->far_->receive(to.part(at, header.size))) break;
      at += header.size;
    }
    sender.join();
    EXPECT_EQ(got, bulk_pattern(this->kSize));
  }
}

TYPED_TEST_P(BulkTransportTest, ReceivesWithoutBlockingToo) {
  std::thread sender([&] { this->send(1, bulk_pattern(this->kSize), BulkTransport::Use::kCopied); });
  std::vector<std::byte> got(this->kSize);
  BulkHeader header{};
  std::size_t at = 0, left = 0;
  while (at < this->kSize && await(*this->far_)) {
    const std::ptrdiff_t count = left == 0 ? this->far_->try_receive_header(header)
                                           : this->far_->try_receive({MutableBytes(got).subspan(at, left)});
    if (count == 0) break;
    if (count < 0) continue;
    if (left == 0) {
      left = header.size;
      ASSERT_LE(left, this->kSize - at);
    } else {
      at += static_cast<std::size_t>(count);
      left -= static_cast<std::size_t>(count);
    }
  }
  sender.join();
  EXPECT_EQ(got, bulk_pattern(this->kSize));
  EXPECT_EQ(this->far_->try_receive_header(header), -1);
  EXPECT_EQ(this->far_->bytes_received(), this->near_->bytes_sent());
}

TYPED_TEST_P(BulkTransportTest, WhatNobodyWantsIsPassedOver) {
  this->send(1, bulk_pattern(5000), BulkTransport::Use::kCopied);
  EXPECT_TRUE(this->near_->send_failure(2, -5));
  BulkHeader header{};
  ASSERT_TRUE(this->far_->receive_header(header));
  for (std::size_t left = header.size; left != 0;) {
    ASSERT_TRUE(await(*this->far_));
    const std::ptrdiff_t count = this->far_->try_discard(left);
    ASSERT_NE(count, 0);
    if (count > 0) left -= static_cast<std::size_t>(count);
  }
  ASSERT_TRUE(this->far_->receive_header(header));
  EXPECT_EQ(header.transfer, 2u);
  EXPECT_EQ(header.size, 0u);
  EXPECT_EQ(header.status, -5);
}

TYPED_TEST_P(BulkTransportTest, EndsForBothSides) {
  this->near_->shutdown();
  BulkHeader header{};
  std::byte byte{};
  EXPECT_FALSE(this->far_->receive_header(header));
  EXPECT_FALSE(this->far_->receive({{&byte, 1}}));
  EXPECT_EQ(this->far_->try_receive_header(header), 0);
  EXPECT_FALSE(this->near_->send({1, 1, 0}, {{&byte, 1}}, BulkTransport::Use::kBorrowed));
}

REGISTER_TYPED_TEST_SUITE_P(BulkTransportTest, ChunksArriveWhereTheReceiverSays, ReceivesWithoutBlockingToo,
                            WhatNobodyWantsIsPassedOver, EndsForBothSides);

}  // namespace remotecl
