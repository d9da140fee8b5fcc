// Streams between kernels and ordinary programs.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "extras/kernel_sockets/space/space_fixture.h"

namespace remotecl::testing {
namespace {

constexpr const char* kAnyPort = "tcp:127.0.0.1:0";

class EchoTest : public NetworkTest {
 protected:
  // Sends and receives at once, so that neither side's memory has to hold all of it.
  static void expect_echo(const server::Descriptor& socket, const std::vector<std::uint8_t>& bytes) {
    std::vector<std::uint8_t> back(bytes.size());
    std::thread sender([&] { send_all(socket, bytes.data(), bytes.size()); });
    const std::size_t came = receive_all(socket, back.data(), back.size());
    sender.join();
    EXPECT_EQ(came, bytes.size());
    EXPECT_TRUE(back == bytes);
  }
};

TEST_F(EchoTest, AProgramTalksToAKernel) {
  const auto network = make_network();
  KernelRun run(program(), network, "echo", {0, 3, -1}, {.items = 8, .text = kAnyPort});
  const std::uint16_t port = port_of(run);
  for (const std::size_t size : {std::size_t{1}, std::size_t{4097}, std::size_t{3000001}}) {
    const server::Descriptor socket = connect_to(port);
    expect_echo(socket, pattern(size, static_cast<std::uint32_t>(size)));
    ::shutdown(socket.get(), SHUT_WR);
    EXPECT_EQ(receive_until_end(socket), "");
  }
  EXPECT_EQ(run.numbers()[2], 0);
  EXPECT_TRUE(soon([&] { return network->stats().sockets == 0; }));
  EXPECT_GE(network->stats().bytes_received, 3004099u);
}

TEST_F(EchoTest, WorksWithTheSmallestRing) {
  const auto network = make_network({.sockets = 2, .ring_bytes = server::SpaceShape::kRingBytesMin});
  KernelRun run(program(), network, "echo", {0, 1, -1}, {.items = 8, .text = kAnyPort});
  const server::Descriptor socket = connect_to(port_of(run));
  expect_echo(socket, pattern(300001, 7));
  ::shutdown(socket.get(), SHUT_WR);
  EXPECT_EQ(run.numbers()[2], 0);
}

TEST_F(EchoTest, AKernelTalksToAProgram) {
  std::uint16_t port = 0;
  const server::Descriptor listener = listen_on_loopback(port);
  const auto network = make_network();
  KernelRun run(program(), network, "client", {0, 200000, 20000, 0, 0, -1},
                {.items = 16, .text = "tcp:localhost:" + std::to_string(port)});
  const server::Descriptor socket = accept_from(listener);
  std::vector<std::uint8_t> data(20000);
  while (const std::size_t came = receive_all(socket, data.data(), data.size())) send_all(socket, data.data(), came);
  ::shutdown(socket.get(), SHUT_WR);
  const auto numbers = run.numbers();
  EXPECT_EQ(numbers[3], 200000);
  EXPECT_EQ(numbers[4], 0);
  EXPECT_EQ(numbers[5], 0);
}

TEST_F(EchoTest, UnixSocketsWorkInBothDirections) {
  const std::string path = ::testing::TempDir() + "rcl-" + std::to_string(::getpid()) + ".sock";
  const auto network = make_network();
  {
    KernelRun run(program(), network, "echo", {0, 1, -1}, {.items = 8, .text = "unix:" + path});
    EXPECT_TRUE(soon([&] { return run.number_now(0) != 0; }));
    const server::Descriptor socket = connect_to_path(path);
    expect_echo(socket, pattern(100000, 3));
    ::shutdown(socket.get(), SHUT_WR);
    EXPECT_EQ(run.numbers()[2], 0);
  }
  ::unlink(path.c_str());
  const server::Descriptor listener = listen_on_path(path);
  KernelRun run(program(), network, "send_and_close", {0, 1000}, {.items = 8, .text = "unix:" + path});
  EXPECT_EQ(receive_until_end(accept_from(listener)).size(), 1000u);
  ::unlink(path.c_str());
}

TEST_F(EchoTest, SeveralGroupsAcceptFromOneListener) {
  constexpr int kGroups = 3, kEach = 40;
  const auto network = make_network();
  KernelRun run(program(), network, "serve", {0, kEach, -1, 0}, {.groups = kGroups, .items = 4, .text = kAnyPort});
  const std::uint16_t port = port_of(run);
  std::vector<std::thread> clients;
  for (int client = 0; client < kGroups; ++client) {
    clients.emplace_back([port, client] {
      for (int i = 0; i < kEach; ++i) {
        const server::Descriptor socket = connect_to(port);
        expect_echo(socket, pattern(1000, static_cast<std::uint32_t>(client * 1000 + i)));
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(run.numbers()[3], 0);
}

TEST_F(EchoTest, AKernelReadsToTheEndAndThenAnswers) {
  std::uint16_t port = 0;
  const server::Descriptor listener = listen_on_loopback(port);
  const auto network = make_network();
  KernelRun run(program(), network, "count_bytes", {0, -1, 0},
                {.items = 3, .text = "tcp:127.0.0.1:" + std::to_string(port)});
  const server::Descriptor socket = accept_from(listener);
  const auto bytes = pattern(500000, 1);
  send_all(socket, bytes.data(), bytes.size());
  ::shutdown(socket.get(), SHUT_WR);
  std::int32_t answer = 0;
  EXPECT_EQ(receive_all(socket, &answer, sizeof answer), sizeof answer);
  EXPECT_EQ(answer, 500000);
  EXPECT_EQ(run.numbers(), (std::vector<cl_int>{500000, 0, 4}));
}

TEST_F(EchoTest, WhatWasSentArrivesAfterTheKernelHasClosedAndEnded) {
  std::uint16_t port = 0;
  const server::Descriptor listener = listen_on_loopback(port);
  const auto network = make_network({.sockets = 4, .ring_bytes = 1u << 20});
  KernelRun run(program(), network, "send_and_close", {0, 1000000},
                {.items = 8, .scratch = 2u << 20, .text = "tcp:127.0.0.1:" + std::to_string(port)});
  EXPECT_EQ(run.numbers()[0], 1000000);  // it has ended, and nobody has accepted yet
  const std::string all = receive_until_end(accept_from(listener));
  ASSERT_EQ(all.size(), 1000000u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(static_cast<std::uint8_t>(all[i]), static_cast<std::uint8_t>(i * 7 + (i >> 8))) << i;
  }
  EXPECT_TRUE(soon([&] { return network->stats().sockets == 0; }));
}

TEST_F(EchoTest, BytesStayInTheRings) {
  const auto network = make_network();
  KernelRun run(program(), network, "forward", {0, 0, -1, -1}, {.items = 8});
  const std::uint16_t port = port_of(run);
  const server::Descriptor from = connect_to(port);
  const server::Descriptor to = connect_to(port);
  const auto bytes = pattern(400000, 5);
  std::thread sender([&] {
    send_all(from, bytes.data(), bytes.size());
    ::shutdown(from.get(), SHUT_WR);
  });
  const std::string came = receive_until_end(to);
  sender.join();
  EXPECT_TRUE(std::equal(came.begin(), came.end(), bytes.begin(), bytes.end(),
                         [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; }));
  const auto numbers = run.numbers();
  EXPECT_EQ(numbers[1], 400000);
  EXPECT_EQ(numbers[2], 0);
}

TEST_F(EchoTest, EachItemHasItsOwnConnection) {
  const auto network = make_network();
  std::uint16_t port = 0;
  const server::Descriptor listener = listen_on_loopback(port);
  KernelRun run(program(), network, "items_alone", {0, 20, 0},
                {.items = 4, .text = "tcp:127.0.0.1:" + std::to_string(port)});
  for (int item = 0; item < 4; ++item) {
    const server::Descriptor socket = accept_from(listener);
    std::int32_t number = 0;
    while (receive_all(socket, &number, sizeof number) == sizeof number) send_all(socket, &number, sizeof number);
  }
  EXPECT_EQ(run.numbers()[2], 0);
}

TEST_F(EchoTest, KernelsOfANetworkTalkUnderNames) {
  const auto network = make_network({.sockets = 8, .ring_bytes = 4096});
  KernelRun echo(program(), network, "echo", {0, 1, -1}, {.items = 8, .text = "rcl:talk"});
  EXPECT_TRUE(soon([&] { return echo.number_now(0) != 0; }));
  KernelRun run(program(), network, "client", {0, 200000, 20000, 0, 0, -1}, {.items = 16, .text = "rcl:talk"});
  const auto numbers = run.numbers();
  EXPECT_EQ(numbers[3], 200000);
  EXPECT_EQ(numbers[4], 0);
  EXPECT_EQ(numbers[5], 0);
  EXPECT_EQ(echo.numbers()[2], 0);
}

TEST_F(EchoTest, NetworksOfASessionShareNames) {
  const auto names = make_ref<server::KernelNames>();
  const auto server = make_network({}, {.names = names}), client = make_network({}, {.names = names});
  KernelRun echo(program(), server, "echo", {0, 1, -1}, {.items = 8, .text = "rcl:one"});
  EXPECT_TRUE(soon([&] { return echo.number_now(0) != 0; }));
  KernelRun run(program(), client, "client", {0, 1000000, 50000, 0, 0, -1}, {.items = 16, .text = "rcl:one"});
  const auto numbers = run.numbers();
  EXPECT_EQ(numbers[3], 1000000);
  EXPECT_EQ(numbers[4], 0);
  EXPECT_EQ(numbers[5], 0);
  EXPECT_EQ(echo.numbers()[2], 0);
}

}  // namespace
}  // namespace remotecl::testing
