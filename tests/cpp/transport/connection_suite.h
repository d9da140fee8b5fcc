#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/transport/connection.h"
#include "transport/pattern.h"

// What every connection promises. A type has make() for both ends of a connection, and skip() if there are machines
// without that kind.
namespace remotecl {

using namespace std::chrono_literals;

template <class Transport>
class ConnectionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if constexpr (requires { Transport::skip(); }) Transport::skip();
  }

  std::pair<std::unique_ptr<Connection>, std::unique_ptr<Connection>> pair_ = Transport::make();
  Connection& near_ = *pair_.first;
  Connection& far_ = *pair_.second;
};
TYPED_TEST_SUITE_P(ConnectionTest);

TYPED_TEST_P(ConnectionTest, BytesArriveInOrderBothWays) {
  std::byte got[6];
  EXPECT_TRUE(this->near_.write(as_bytes("abc"), as_bytes("def")));
  ASSERT_TRUE(this->far_.read_exactly(got));
  EXPECT_EQ(as_text(got), "abcdef");
  EXPECT_TRUE(this->far_.write(as_bytes("ghijkl")));
  ASSERT_TRUE(this->near_.read_exactly(got));
  EXPECT_EQ(as_text(got), "ghijkl");
}

TYPED_TEST_P(ConnectionTest, LargeWritesWithManyPartsArriveWhole) {
  std::vector<std::byte> sent(8u << 20);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 31 >> 7);
  std::thread writer([&] {
    std::vector<iovec> parts;
    constexpr std::size_t kPart = 1'234'567;
    for (std::size_t at = 0; at < sent.size(); at += kPart) {
      parts.push_back({sent.data() + at, std::min(kPart, sent.size() - at)});
    }
    EXPECT_TRUE(this->near_.write(parts.data(), static_cast<int>(parts.size())));
  });
  std::vector<std::byte> got(sent.size());
  EXPECT_TRUE(this->far_.read_exactly(got));
  writer.join();
  EXPECT_EQ(got, sent);
  EXPECT_EQ(this->near_.bytes_sent(), sent.size());
  EXPECT_EQ(this->far_.bytes_received(), sent.size());
}

// As whoever reads bulk data does: the memory that follows is named each time.
TYPED_TEST_P(ConnectionTest, LargeWritesArriveWholeWhereTheyAreReadAhead) {
  std::vector<std::byte> sent(8u << 20), got(sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = pattern_at(i);
  std::thread writer([&] { EXPECT_TRUE(this->near_.write(sent)); });
  std::size_t at = 0;
  for (std::ptrdiff_t count = -1; count != 0 && at<got.size(); at += count> 0 ? static_cast<std::size_t>(count) : 0) {
    pollfd wait{this->far_.wait_handle(), POLLIN, 0};
    if (::poll(&wait, 1, 10'000) != 1) break;
    count = this->far_.try_read_ahead(MutableBytes(got).subspan(at));
  }
  EXPECT_EQ(at, got.size());
  if (at < got.size()) this->near_.shutdown();
  writer.join();
  EXPECT_EQ(got, sent);
}

TYPED_TEST_P(ConnectionTest, BorrowedBytesMayChangeAfterTheyAreReclaimed) {
  std::vector<std::byte> borrowed(2000, std::byte{1}), got(2 + 2 * borrowed.size());
  for (std::uint8_t round = 1; round <= 2; ++round) {
    const std::byte header{round};
    EXPECT_TRUE(this->near_.write_borrowed({&header, 1}, borrowed));
    this->near_.reclaim(this->near_.bytes_sent());
    std::fill(borrowed.begin(), borrowed.end(), std::byte{2});
  }
  ASSERT_TRUE(this->far_.read_exactly(got));
  EXPECT_EQ(std::count(got.begin(), got.begin() + 2001, std::byte{1}), 2001);
  EXPECT_EQ(std::count(got.begin() + 2001, got.end(), std::byte{2}), 2001);
}

TYPED_TEST_P(ConnectionTest, TryReadDoesNotBlock) {
  std::byte got[4];
  EXPECT_EQ(this->far_.try_read_some(got), -1);
  this->near_.write(as_bytes("ab"));
  pollfd wait{this->far_.wait_handle(), POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, 5000), 1);
  EXPECT_EQ(this->far_.try_read_some(got), 2);
  EXPECT_EQ(this->far_.try_read_some(got), -1);
}

// Whatever was read before, and whoever has looked at the connection meanwhile.
TYPED_TEST_P(ConnectionTest, WaitHandleIsReadableIfAnythingHasArrived) {
  std::byte got[4];
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(this->near_.write(as_bytes("abcd")));
    for (int i = 0; i < 4; ++i) {
      if (round % 2 == 0) {
        ASSERT_TRUE(this->far_.write(as_bytes("x")));
      }
      pollfd wait{this->far_.wait_handle(), POLLIN, 0};
      ASSERT_EQ(::poll(&wait, 1, 5000), 1) << round << " " << i;
      ASSERT_EQ(this->far_.try_read_some({got, 1}), 1);
      if (round % 2 == 0) {
        ASSERT_TRUE(this->near_.read_exactly({got, 1}));
      }
    }
  }
}

TYPED_TEST_P(ConnectionTest, TryWriteStopsWhenThePeerDoesNotRead) {
  const std::vector<std::byte> data(1u << 20);
  std::ptrdiff_t total = 0, count = 0;
  while ((count = this->near_.try_write(data)) > 0 && total < (1 << 30)) total += count;
  EXPECT_EQ(count, 0) << "a full socket is no error";
  std::vector<std::byte> got(static_cast<std::size_t>(total));
  EXPECT_TRUE(this->far_.read_exactly(got));
}

TYPED_TEST_P(ConnectionTest, PeersEndIsTheEndOfReading) {
  this->near_.write(as_bytes("ab"));
  this->pair_.first.reset();
  std::byte got[4];
  EXPECT_EQ(this->far_.read_some(got), 2u) << "what was sent before still arrives";
  EXPECT_EQ(this->far_.read_some(got), 0u);
  EXPECT_EQ(this->far_.try_read_some(got), 0);
  EXPECT_FALSE(this->far_.read_exactly(got));
}

TYPED_TEST_P(ConnectionTest, WritingToALostPeerFailsWithoutASignal) {
  this->pair_.first.reset();
  const std::vector<std::byte> data(1u << 20);
  bool written = true;
  for (int i = 0; i < 100 && written; ++i) written = this->far_.write(data);
  EXPECT_FALSE(written);
  EXPECT_EQ(this->far_.try_write(data), -1);
}

TYPED_TEST_P(ConnectionTest, ShutdownWakesAReader) {
  std::thread reader([this] {
    std::byte got;
    EXPECT_EQ(this->far_.read_some({&got, 1}), 0u);
  });
  this->far_.shutdown();
  reader.join();
}

TYPED_TEST_P(ConnectionTest, ShutdownWakesABlockedWriter) {
  std::thread writer([this] {
    const std::vector<std::byte> data(64u << 20);
    EXPECT_FALSE(this->near_.write(data));
  });
  std::byte got;
  this->far_.read_some({&got, 1});  // the writer has begun
  this->near_.shutdown();
  writer.join();
}

TYPED_TEST_P(ConnectionTest, ReadTimeout) {
  this->far_.set_read_timeout(30ms);
  std::byte got;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(this->far_.read_some({&got, 1}), 0u);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
  if constexpr (!TypeParam::kGoesOnAfterTimeout) {
    EXPECT_EQ(this->far_.try_read_some({&got, 1}), 0);
    return;
  }
  this->far_.set_read_timeout(0ms);
  this->near_.write(as_bytes("x"));
  EXPECT_EQ(this->far_.read_some({&got, 1}), 1u);
}

REGISTER_TYPED_TEST_SUITE_P(ConnectionTest, BytesArriveInOrderBothWays, LargeWritesWithManyPartsArriveWhole,
                            LargeWritesArriveWholeWhereTheyAreReadAhead, BorrowedBytesMayChangeAfterTheyAreReclaimed,
                            TryReadDoesNotBlock, WaitHandleIsReadableIfAnythingHasArrived,
                            TryWriteStopsWhenThePeerDoesNotRead, PeersEndIsTheEndOfReading,
                            WritingToALostPeerFailsWithoutASignal, ShutdownWakesAReader, ShutdownWakesABlockedWriter,
                            ReadTimeout);

}  // namespace remotecl
