// Sockets whose kernels behave, without kernels: limits, listeners and the end.
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "extras/kernel_sockets/space/host_sockets.h"
#include "extras/kernel_sockets/space/kernel_socket.h"
#include "extras/kernel_sockets/space/open_broker.h"
#include "extras/kernel_sockets/space/pipe.h"
#include "extras/kernel_sockets/space/proxy_fixture.h"

namespace remotecl::testing {
namespace {

using namespace server;

// Has debt when the test says so, and counts how often the proxy has seen it.
class DebtAccount final : public SocketAccount {
 public:
  std::chrono::nanoseconds debt() const override {
    if (!is_limited) return std::chrono::nanoseconds::zero();
    ++seen;
    return std::chrono::milliseconds(1);
  }
  std::atomic<bool> is_limited{false};
  mutable std::atomic<int> seen{0};
};

// Has a bound for sockets and one for memory.
class BoundedAccount final : public SocketAccount {
 public:
  bool open_socket() override { return count_up(sockets, 1, sockets_max); }
  void close_socket() override { --sockets; }
  bool hold_memory(std::uint64_t size) override { return count_up(memory, size, memory_max); }
  void free_memory(std::uint64_t size) override { memory -= size; }
  std::uint64_t sockets_max = 1000, memory_max = 1u << 30;
  std::atomic<std::uint64_t> sockets{0}, memory{0};

 private:
  static bool count_up(std::atomic<std::uint64_t>& count, std::uint64_t more, std::uint64_t most) {
    if ((count += more) <= most) return true;
    count -= more;
    return false;
  }
};

class SocketsTest : public ProxyTest<OpenBroker> {
 protected:
  // A socket of kernels that is connected to the listener.
  void connect(std::uint32_t index, std::uint16_t port) {
    request(index, layout::kConnect, 0, "tcp:127.0.0.1:" + std::to_string(port));
    ASSERT_TRUE(becomes(index, layout::kConnected));
  }
  bool is_pending(std::uint32_t listener) { return (line(listener, layout::kState) & layout::kPending) != 0; }
  // The socket takes a connection of a listener that nobody has closed yet.
  void accept(std::uint32_t index, std::uint32_t listener) {
    request(index, layout::kAccept, layout::handle(listener, 1));
    ASSERT_TRUE(becomes(index, layout::kConnected));
  }
  static std::string text_of(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }
};

TEST_F(SocketsTest, WhatWasSentBeforeTheCloseArrivesUnderARateLimit) {
  const auto account = make_ref<DebtAccount>();
  hooks_.account = account;
  begin();
  std::uint16_t port = 0;
  const Descriptor listener = listen_on_loopback(port);
  connect(0, port);
  const Descriptor peer = accept_from(listener);
  account->is_limited = true;
  ASSERT_TRUE(soon([&] { return account->seen > 4; }));
  const auto bytes = pattern(1000, 1);
  send(0, bytes);
  request(0, layout::kClose);
  ASSERT_TRUE(is_answered(0));
  const int seen = account->seen;
  ASSERT_TRUE(soon([&] { return account->seen > seen + 4; }));
  account->is_limited = false;
  EXPECT_EQ(receive_until_end(peer), text_of(bytes));
  EXPECT_TRUE(soon([&] { return proxy_->stats().sockets == 0; }));
}

TEST_F(SocketsTest, NothingIsSentToAKernelAfterTheEnd) {
  begin();
  request(0, layout::kBind, 4, "rcl:name");
  ASSERT_TRUE(becomes(0, layout::kListening));
  request(1, layout::kConnect, 0, "rcl:name");
  ASSERT_TRUE(becomes(1, layout::kConnected));
  accept(2, 0);
  request(1, layout::kShutdown);
  ASSERT_TRUE(becomes(2, layout::kEndOfStream));
  send(1, pattern(10, 1));
  ASSERT_TRUE(becomes(1, layout::kFailed));
  EXPECT_EQ(line(1, layout::kError), static_cast<std::uint32_t>(EPIPE));
  EXPECT_EQ(line(2, layout::kReceiveTail), 0u);
}

TEST_F(SocketsTest, AListenerIsReadyWhileItHasConnections) {
  begin();
  request(0, layout::kBind, 4, "tcp:127.0.0.1:0");
  ASSERT_TRUE(becomes(0, layout::kListening));
  const auto port = static_cast<std::uint16_t>(line(0, layout::kPort));
  const Descriptor first = connect_to(port), second = connect_to(port);
  ASSERT_TRUE(soon([&] { return is_pending(0); }));
  accept(1, 0);
  EXPECT_TRUE(soon([&] { return is_pending(0); }));
  accept(2, 0);
  EXPECT_TRUE(soon([&] { return !is_pending(0); })) << "both have been taken";
  const Descriptor third = connect_to(port);
  EXPECT_TRUE(soon([&] { return is_pending(0); }));
}

TEST_F(SocketsTest, AListenerWithANameIsReadyWhileItHasConnections) {
  begin();
  request(0, layout::kBind, 4, "rcl:name");
  ASSERT_TRUE(becomes(0, layout::kListening));
  for (std::uint32_t index = 1; index < 3; ++index) request(index, layout::kConnect, 0, "rcl:name");
  ASSERT_TRUE(soon([&] { return is_pending(0); }));
  accept(3, 0);
  EXPECT_TRUE(soon([&] { return is_pending(0); }));
  accept(4, 0);
  EXPECT_TRUE(soon([&] { return !is_pending(0); })) << "both have been taken";
  request(5, layout::kConnect, 0, "rcl:name");
  EXPECT_TRUE(soon([&] { return is_pending(0); }));
}

// The kernel has ended, and the proxy sleeps.
TEST_F(SocketsTest, WhatWasSentBeforeTheStopArrives) {
  begin();
  std::uint16_t port = 0;
  const Descriptor listener = listen_on_loopback(port);
  connect(0, port);
  const Descriptor peer = accept_from(listener);
  // More than the system takes while nobody reads, and then a ring full.
  std::size_t sent = 0;
  const auto piece = pattern(512, 1);
  const auto has_room = [&] { return sent + 512 - line(0, layout::kSendHead) <= shape_.ring_bytes; };
  for (auto moved = std::chrono::steady_clock::now();
       std::chrono::steady_clock::now() - moved < std::chrono::milliseconds(200);) {
    if (!has_room()) continue;
    send(0, piece);
    sent += piece.size();
    moved = std::chrono::steady_clock::now();
  }
  proxy_->kernel_ended();
  proxy_->stop();
  ASSERT_TRUE(becomes(0, layout::kStopped)) << "kernels do not wait for peers";
  EXPECT_EQ(receive_until_end(peer).size(), sent);
}

TEST_F(SocketsTest, APeerThatTakesNothingDelaysTheEndByASecond) {
  begin();
  request(0, layout::kBind, 4, "rcl:name");
  ASSERT_TRUE(becomes(0, layout::kListening));
  request(1, layout::kConnect, 0, "rcl:name");
  ASSERT_TRUE(becomes(1, layout::kConnected));
  std::size_t sent = 0;
  const auto piece = pattern(512, 1);
  while (sent < (256u << 10) + 1024) {
    if (sent + 512 - line(1, layout::kSendHead) > shape_.ring_bytes) continue;
    send(1, piece);
    sent += piece.size();
  }
  const auto stop = std::chrono::steady_clock::now();
  proxy_->stop();
  ASSERT_TRUE(becomes(0, layout::kStopped));
  EXPECT_LT(std::chrono::steady_clock::now() - stop, std::chrono::milliseconds(500));
  proxy_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - stop, std::chrono::milliseconds(1500));
}

TEST_F(SocketsTest, ConnectionsOfKernelsCountTheirMemory) {
  const auto account = make_ref<BoundedAccount>();
  account->memory_max = 3 * Pipe::kSize;  // one connection's, and not another one's
  hooks_.account = account;
  begin();
  request(0, layout::kBind, 4, "rcl:name");
  ASSERT_TRUE(becomes(0, layout::kListening));
  request(1, layout::kConnect, 0, "rcl:name");
  ASSERT_TRUE(becomes(1, layout::kConnected));
  EXPECT_GE(account->memory, 2 * Pipe::kSize) << "also if nobody has accepted it";
  request(2, layout::kConnect, 0, "rcl:name");
  ASSERT_TRUE(becomes(2, layout::kFailed));
  EXPECT_EQ(line(2, layout::kError), static_cast<std::uint32_t>(EMFILE));
  request(1, layout::kClose);
  request(0, layout::kClose);
  EXPECT_TRUE(soon([&] { return account->memory == 0; }));
}

TEST_F(SocketsTest, SocketsWithNamesCountAsOthers) {
  const auto account = make_ref<BoundedAccount>();
  account->sockets_max = 2;
  hooks_.account = account;
  begin();
  request(0, layout::kBind, 4, "rcl:name");
  ASSERT_TRUE(becomes(0, layout::kListening));
  request(1, layout::kConnect, 0, "rcl:name");
  ASSERT_TRUE(becomes(1, layout::kConnected));
  EXPECT_EQ(account->sockets, 2u);
  request(2, layout::kAccept, layout::handle(0, 1));
  ASSERT_TRUE(becomes(2, layout::kFailed));
  EXPECT_EQ(line(2, layout::kError), static_cast<std::uint32_t>(EMFILE));
  for (std::uint32_t index = 0; index < 3; ++index) request(index, layout::kClose);
  EXPECT_TRUE(soon([&] { return account->sockets == 0; }));
}

// Looks names up when the test lets it.
class SlowBroker final : public SocketBroker {
 public:
  int connect(const SocketAddress& address) override { return open_->connect(address); }
  int bind(const SocketAddress& address, int backlog, std::uint16_t& port) override {
    return open_->bind(address, backlog, port);
  }
  int resolve(const SocketAddress&, SocketPeer&) override {
    ++resolving;
    may_resolve.wait(false);
    return 0;
  }
  std::atomic<int> resolving{0};
  std::atomic<bool> may_resolve{false};

 private:
  const Ref<OpenBroker> open_ = make_ref<OpenBroker>();
};

class ResolveTest : public ProxyTest<SlowBroker> {};

TEST_F(ResolveTest, ASocketAsksForOneAddressAtATime) {
  begin();
  for (std::uint32_t index = 0; index < 2; ++index) {
    request(index, layout::kBind, 0, "udp:127.0.0.1:0");
    ASSERT_TRUE(becomes(index, layout::kDatagram));
  }
  request(0, layout::kResolve, 0, "udp:any:1");
  ASSERT_TRUE(soon([&] { return broker_->resolving == 1; }));
  request(0, layout::kResolve, 0, "udp:any:2");
  EXPECT_TRUE(becomes(0, layout::kFailed));
  EXPECT_EQ(line(0, layout::kError), static_cast<std::uint32_t>(EPROTO));
  request(1, layout::kResolve, 0, "udp:any:3");
  broker_->may_resolve = true;
  broker_->may_resolve.notify_all();
  EXPECT_TRUE(is_answered(1));
  EXPECT_EQ(line(1, layout::kValue), 0u);
  request(1, layout::kResolve, 0, "udp:any:4");
  EXPECT_TRUE(is_answered(1)) << "one after the other";
  EXPECT_EQ(broker_->resolving, 3);
}

// A group that still has the handle must not take the line for that of an open socket whose positions are 0.
TEST(KernelSocketTest, AFreedSocketIsNeverSeenWithItsOldGenerationAndNoState) {
  const SpaceShape shape{1, 1024};
  const SpaceLayout layout(shape);
  std::vector<std::byte> memory(layout.size);
  KernelSocket socket(SlotWords(memory.data(), shape, layout, 0), shape.ring_bytes);
  std::byte* const state = memory.data() + layout.lines + 4ull * layout::kState;
  std::atomic<std::uint32_t> opened{0};
  std::atomic<bool> is_over{false}, was_seen{false};
  std::thread kernel([&] {
    while (!is_over) {
      const std::uint32_t generation = opened;
      const auto seen = std::atomic_ref(*reinterpret_cast<std::uint64_t*>(state)).load();
      if (generation != 0 && seen == std::uint64_t{generation} << 32) was_seen = true;
    }
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  while (std::chrono::steady_clock::now() < end && !was_seen) {
    socket.listen(std::make_unique<KernelSocket::Listening>(), 1);
    opened = socket.generation();
    socket.close({});
    socket.release();
  }
  is_over = true;
  kernel.join();
  EXPECT_FALSE(was_seen);
}

}  // namespace
}  // namespace remotecl::testing
