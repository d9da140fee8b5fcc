// Errors, waiting for many, datagrams, and the end of a network.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "extras/kernel_sockets/space/space_fixture.h"
#include "runtime/sharing/token_bucket.h"

namespace remotecl::testing {
namespace {

class CallsTest : public NetworkTest {
 protected:
  static server::KernelSocketSpace::Hooks hooks() { return {.broker = make_ref<OpenBroker>("refused.invalid")}; }
};

TEST_F(CallsTest, FailWithTheirReason) {
  std::uint16_t port = 0;
  { const server::Descriptor gone = listen_on_loopback(port); }
  const auto network = make_network({}, hooks());
  KernelRun run(program(), network, "errors", std::vector<cl_int>(12),
                {.items = 4, .text = "tcp:127.0.0.1:" + std::to_string(port)});
  const auto numbers = run.numbers();
  const std::vector<cl_int> expected = {-ECONNREFUSED, -EINVAL,   -EACCES, -ECONNREFUSED, -EBADF,      -EBADF,
                                        -EAGAIN,       -ENOTCONN, -EBADF,  -EBADF,        -EADDRINUSE, -EINVAL};
  EXPECT_EQ(numbers, expected);
}

TEST_F(CallsTest, AnAccountBoundsTheSockets) {
  class TwoSockets final : public server::SocketAccount {
   public:
    bool open_socket() override { return count_.fetch_add(1) < 2 || (--count_, false); }
    void close_socket() override { --count_; }
    std::atomic<int> count_{0};
  };
  const auto account = make_ref<TwoSockets>();
  const auto network = make_network({}, {.account = account});
  KernelRun run(program(), network, "serve", {0, 2, -1, 0}, {.items = 4, .text = "tcp:127.0.0.1:0"});
  const std::uint16_t port = port_of(run);
  EXPECT_EQ(account->count_, 1);
  const server::Descriptor first = connect_to(port);
  send_all(first, "a", 1);
  char back = 0;
  EXPECT_EQ(receive_all(first, &back, 1), 1u);
  EXPECT_EQ(account->count_, 2);
  ::shutdown(first.get(), SHUT_WR);
  receive_until_end(first);
  const server::Descriptor second = connect_to(port);
  ::shutdown(second.get(), SHUT_WR);
  EXPECT_EQ(run.numbers()[3], 0);
}

TEST_F(CallsTest, AnAccountSlowsTheBytes) {
  // 1 MB/s: half a megabyte there and back takes about a second.
  class Slow final : public server::SocketAccount {
   public:
    void pay(std::uint64_t bytes) override { bucket_.take(bytes, std::chrono::steady_clock::now()); }
    std::chrono::nanoseconds debt() const override { return bucket_.debt(std::chrono::steady_clock::now()); }
    TokenBucket bucket_{1'000'000};  // of the proxy thread
  };
  const auto network = make_network({}, {.account = make_ref<Slow>()});
  KernelRun run(program(), network, "echo", {0, 1, -1}, {.items = 8, .text = "tcp:127.0.0.1:0"});
  const server::Descriptor socket = connect_to(port_of(run));
  const auto begin = std::chrono::steady_clock::now();
  const auto bytes = pattern(250000, 1);
  std::thread sender([&] { send_all(socket, bytes.data(), bytes.size()); });
  std::vector<std::uint8_t> back(bytes.size());
  EXPECT_EQ(receive_all(socket, back.data(), back.size()), bytes.size());
  sender.join();
  EXPECT_TRUE(back == bytes);
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(300));
  ::shutdown(socket.get(), SHUT_WR);
}

TEST_F(CallsTest, OneGroupPollsManyConnections) {
  constexpr int kConnections = 40;
  const auto network = make_network({.sockets = 64, .ring_bytes = 4096});
  KernelRun run(program(), network, "poll_many", {0, kConnections, -1, -1, -1, 0},
                {.items = 8, .text = "tcp:127.0.0.1:0"});
  const std::uint16_t port = port_of(run);
  std::vector<server::Descriptor> sockets;
  for (int i = 0; i < kConnections; ++i) sockets.push_back(connect_to(port));
  for (int round = 0; round < 5; ++round) {
    for (const auto& socket : sockets) send_all(socket, &round, sizeof round);
    for (const auto& socket : sockets) {
      int back = -1;
      ASSERT_EQ(receive_all(socket, &back, sizeof back), sizeof back);
      EXPECT_EQ(back, round);
    }
  }
  for (const auto& socket : sockets) ::shutdown(socket.get(), SHUT_WR);
  const auto numbers = run.numbers();
  EXPECT_EQ(numbers[2], kConnections * 5 * 4);
  EXPECT_EQ(numbers[3], 0);
  EXPECT_EQ(numbers[5], -EAGAIN);
  EXPECT_GE(numbers[4], 49);
  EXPECT_LT(numbers[4], 5000);
}

TEST_F(CallsTest, WhatAPollReportsIsThere) {
  constexpr int kConnections = 4000;
  const auto network = make_network();
  KernelRun run(program(), network, "accept_polled", {0, kConnections, -1}, {.items = 8, .text = "tcp:127.0.0.1:0"});
  const std::uint16_t port = port_of(run);
  for (int i = 0; i < kConnections; i += 40) {
    std::vector<server::Descriptor> sockets;
    for (int one = 0; one < 40; ++one) sockets.push_back(connect_to(port));
    for (const auto& socket : sockets) receive_until_end(socket);
  }
  EXPECT_EQ(run.numbers()[2], 0);
}

TEST_F(CallsTest, AConnectionIsMadeInTheBackground) {
  std::uint16_t port = 0;
  const auto network = make_network();
  {
    const server::Descriptor listener = listen_on_loopback(port);
    KernelRun run(program(), network, "connect_later", {0, 0}, {.text = "tcp:127.0.0.1:" + std::to_string(port)});
    EXPECT_EQ(run.numbers(), (std::vector<cl_int>{4, 4}));
  }
  KernelRun run(program(), network, "connect_later", {0, 0}, {.text = "tcp:127.0.0.1:" + std::to_string(port)});
  const auto numbers = run.numbers();
  EXPECT_NE(numbers[0] & 8, 0);
  EXPECT_EQ(numbers[1], -ECONNREFUSED);
}

TEST_F(CallsTest, DatagramsKeepTheirBounds) {
  std::uint16_t own_port = 0;
  const server::Descriptor socket = udp_socket(own_port);
  const auto network = make_network();
  KernelRun run(program(), network, "datagrams", {0, 4, 0, -1, 0, 0, 0},
                {.items = 8, .text = "udp:127.0.0.1:" + std::to_string(own_port)});
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port_of(run));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (const std::size_t size : {std::size_t{1}, std::size_t{0}, std::size_t{32}, std::size_t{3000}}) {
    const auto bytes = pattern(size, static_cast<std::uint32_t>(size));
    ASSERT_EQ(::sendto(socket.get(), bytes.data(), size, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to),
              static_cast<ssize_t>(size));
    std::vector<std::uint8_t> back(4096);
    const ssize_t came = ::recv(socket.get(), back.data(), back.size(), 0);
    ASSERT_EQ(came, static_cast<ssize_t>(std::min<std::size_t>(size, 2000)));
    EXPECT_TRUE(std::equal(back.begin(), back.begin() + came, bytes.begin()));
  }
  for (int i = 0; i < 2; ++i) {  // to the resolved peer, and over a connected socket
    std::int32_t answer = 0;
    EXPECT_EQ(::recv(socket.get(), &answer, sizeof answer, 0), 4);
    EXPECT_EQ(answer, 2033);
  }
  const auto numbers = run.numbers();
  EXPECT_EQ((std::vector<cl_int>(numbers.begin() + 2, numbers.end())), (std::vector<cl_int>{2033, 0, 4, -EMSGSIZE, 4}));
}

TEST_F(CallsTest, DatagramsGoOnlyWhereTheBrokerAllowsIt) {
  const auto network = make_network({}, hooks());
  KernelRun run(program(), network, "stray_datagram", {0, 0, 0}, {.items = 1});
  EXPECT_EQ(run.numbers(), (std::vector<cl_int>{4, -EACCES, -EACCES}));
}

TEST_F(CallsTest, EndWithinASecondWhenTheNetworkStops) {
  const auto network = make_network();
  KernelRun run(program(), network, "wait_for_ever", {0, 0, 0}, {.items = 4});
  const std::uint16_t port = port_of(run);
  network->stop();
  EXPECT_TRUE(run.wait(std::chrono::seconds(1)));
  const auto numbers = run.numbers();
  EXPECT_EQ(numbers[1], -ECANCELED);
  EXPECT_EQ(numbers[2], -ECANCELED);
  EXPECT_TRUE(soon([&] {
    try {
      connect_to(port);
      return false;
    } catch (const std::system_error&) {
      return true;
    }
  }));
}

TEST_F(CallsTest, LeaveNothingBehind) {
  const char* const steps = std::getenv("REMOTECL_TEST_STEPS");
  const int usual = threads_of_tests().most != 0 ? 400 : 2000;  // each step wakes several threads
  const int connections = steps != nullptr ? std::atoi(steps) / 4 * 4 : usual;
  std::uint16_t port = 0;
  const server::Descriptor listener = listen_on_loopback(port);
  std::thread peer([&listener, connections] {
    for (int i = 0; i < connections; ++i) {
      const server::Descriptor socket = accept_from(listener);
      char byte = 0;
      receive_all(socket, &byte, 1);
      send_all(socket, &byte, 1);
    }
  });
  const auto network = make_network({.sockets = 8, .ring_bytes = 1024});
  const std::size_t before = open_descriptors();
  {
    KernelRun run(program(), network, "open_and_close", {0, connections / 4, 0, 0},
                  {.groups = 4, .text = "tcp:127.0.0.1:" + std::to_string(port)});
    const auto numbers = run.numbers();
    EXPECT_EQ(numbers[2], 0);
    EXPECT_EQ(numbers[3], connections);
  }
  peer.join();
  EXPECT_TRUE(soon([&] { return network->stats().sockets == 0; }));
  EXPECT_EQ(network->stats().opened, static_cast<std::uint64_t>(connections));
  // Each thread that has begun meanwhile has two.
  EXPECT_LE(open_descriptors(), before + 2 * std::size_t{threads_of_tests().bound()});
}

TEST_F(CallsTest, RefuseShapesThatAreNone) {
  cl_int error = CL_SUCCESS;
  const server::KernelSocketSpace::Hooks hooks{.broker = make_ref<OpenBroker>()};
  for (const server::SpaceShape shape :
       {server::SpaceShape{0, 4096}, server::SpaceShape{1, 1000}, server::SpaceShape{1, 512},
        server::SpaceShape{20000, 4096}, server::SpaceShape{16384, 16u << 20}}) {
    EXPECT_FALSE(server::KernelSocketSpace::make(device(), shape, hooks, error));
    EXPECT_EQ(error, CL_INVALID_VALUE);
  }
}

}  // namespace
}  // namespace remotecl::testing
