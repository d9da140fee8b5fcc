// Connections that break in the middle of a try_write(): what has gone out by then may have been received, and counts.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>
#include <vector>

#include "runtime/transport/stream/resumable_connection.h"
#include "transport/pattern.h"
#include "transport/stream/striped_pair.h"
#include "transport/tcp/failing_send.h"
#include "transport/tls/tls_pair.h"

namespace remotecl {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kRecord = 16u << 10;
constexpr std::size_t kBlock = StripedConnection::kBlockSize;

std::vector<std::byte> pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = pattern_at(i);
  return bytes;
}

std::size_t read_to_end(Connection& connection) {
  std::vector<std::byte> space(1u << 20);
  std::size_t total = 0;
  for (std::size_t count = 1; count != 0; total += count) {
    count = connection.read_some(MutableBytes(space).subspan(total));
  }
  return total;
}

// A block fits into the socket at once.
StripedPair make_roomy_pair() {
  StripedPair pair = make_striped_pair(2);
  const int size = 2 * kBlock;
  const int descriptor = pair.near_carriers.front()->wait_handle();
  EXPECT_EQ(::setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, sizeof size), 0);
  return pair;
}

TEST(BrokenWriteTest, RecordsThatHaveGoneOutAreToldAsWritten) {
  TlsPair pair = make_tls_pair();
  const auto bytes = pattern(3 * kRecord);
  fail_send_after(2);
  EXPECT_EQ(pair.near->try_write(bytes), static_cast<std::ptrdiff_t>(2 * kRecord));
  EXPECT_EQ(pair.near->bytes_sent(), 2 * kRecord);
  EXPECT_EQ(pair.near->try_write(bytes), -1);
  EXPECT_EQ(read_to_end(*pair.far), 2 * kRecord);
}

TEST(BrokenWriteTest, RunsThatHaveGoneOutAreToldAsWritten) {
  StripedPair pair = make_roomy_pair();
  const auto bytes = pattern(3 * kBlock);
  fail_send_after(3);  // a run's size, its bytes, the next one's size
  EXPECT_EQ(pair.near->try_write(bytes), static_cast<std::ptrdiff_t>(kBlock));
  EXPECT_EQ(pair.near->bytes_sent(), kBlock);
  EXPECT_EQ(pair.near->try_write(bytes), -1);
  EXPECT_LE(read_to_end(*pair.far), kBlock);  // the end of one connection is that of all, with what is under way
}

using Ends = std::pair<std::shared_ptr<Connection>, std::shared_ptr<Connection>>;

// Another connection carries the stream on, and every byte comes once.
void expect_goes_on(Ends first, Ends second, int sends_before) {
  const auto end = [](std::shared_ptr<Connection> carrier) {
    return std::make_unique<ResumableConnection>(
        std::move(carrier), 30s, ResumableConnection::Hooks{[] {}, [](std::uint64_t /*received*/) {}, {}});
  };
  const auto near = end(first.first), far = end(first.second);
  const auto bytes = pattern(3 * kBlock);
  fail_send_after(sends_before);
  std::size_t written = static_cast<std::size_t>(near->try_write(bytes));
  std::vector<std::byte> got(bytes.size());
  // So much is there for sure.
  ASSERT_TRUE(far->read_exactly(MutableBytes(got).first(kRecord)));
  std::ptrdiff_t more = 0;
  std::size_t read = kRecord;
  while ((more = far->try_read_some(MutableBytes(got).subspan(read))) > 0) read += static_cast<std::size_t>(more);
  const auto near_attempt = near->detach();
  const auto far_attempt = far->detach();
  auto resumed =
      std::async(std::launch::async, [&] { return near->resume(near_attempt, second.first, far_attempt.received); });
  EXPECT_TRUE(far->resume(far_attempt, second.second, near_attempt.received));
  ASSERT_TRUE(resumed.get());
  auto rest = std::async(std::launch::async, [&] { return far->read_exactly(MutableBytes(got).subspan(read)); });
  EXPECT_TRUE(near->write(Bytes(bytes).subspan(written)));
  EXPECT_TRUE(rest.get());
  EXPECT_EQ(got, bytes);
}

TEST(BrokenWriteTest, AStreamThroughTlsGoesOn) {
  TlsPair first = make_tls_pair(), second = make_tls_pair();
  expect_goes_on({std::move(first.near), std::move(first.far)}, {std::move(second.near), std::move(second.far)}, 2);
}

TEST(BrokenWriteTest, AStreamOverSeveralConnectionsGoesOn) {
  StripedPair first = make_roomy_pair(), second = make_striped_pair(2);
  expect_goes_on({std::move(first.near), std::move(first.far)}, {std::move(second.near), std::move(second.far)}, 3);
}

}  // namespace
}  // namespace remotecl
