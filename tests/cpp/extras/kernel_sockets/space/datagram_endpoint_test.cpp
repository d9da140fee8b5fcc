// Whom datagrams may go to.
#include "extras/kernel_sockets/space/datagram_endpoint.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "extras/kernel_sockets/space/host_sockets.h"
#include "extras/kernel_sockets/space/layout.h"

namespace remotecl::testing {
namespace {

using namespace server;

class DatagramEndpointTest : public ::testing::Test {
 protected:
  static SocketPeer peer_at(std::uint16_t port) {
    SocketPeer peer{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}, port};
    return peer;
  }
  // A program's datagram comes in.
  void hear(const Descriptor& from) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port_);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::sendto(from.get(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to), 1);
    const std::uint32_t before = received_.tail();
    ASSERT_EQ(endpoint_.receive(received_).error, 0);
    ASSERT_NE(received_.tail(), before);
    ASSERT_TRUE(received_.look(received_.tail()));
  }
  // One of somebody else, who does not send again.
  void hear_stranger() {
    std::uint16_t port = 0;
    hear(udp_socket(port));
  }
  // What sending a byte to the address says.
  Moved answer(const SocketPeer& to) {
    std::byte record[layout::record_size(1)] = {};
    const std::uint32_t size = 1, port = to.port;
    std::memcpy(record, &size, sizeof size);
    std::memcpy(record + layout::kRecordPort, &port, sizeof port);
    std::memcpy(record + layout::kRecordIp, to.ip.data(), to.ip.size());
    sent_.bytes().copy_in(sent_.head(), record, sizeof record);
    EXPECT_TRUE(sent_.look(sent_.head() + sizeof record));
    return endpoint_.send(sent_);
  }
  // Whether a datagram has come.
  static bool has_got(const Descriptor& socket) {
    char byte = 0;
    return ::recv(socket.get(), &byte, 1, MSG_DONTWAIT) == 1;
  }

  static constexpr int kMany = 6000;  // from more addresses than are remembered
  std::uint16_t port_ = 0;
  DatagramEndpoint endpoint_{udp_socket(port_)};
  std::vector<std::byte> sends_ = std::vector<std::byte>(4096), receives_ = std::vector<std::byte>(4096);
  SendRing sent_{RingBytes(sends_.data(), 4096)};
  ReceiveRing received_{RingBytes(receives_.data(), 4096)};
};

TEST_F(DatagramEndpointTest, WhoSendsAgainIsNotForgotten) {
  std::uint16_t port = 0;
  const Descriptor regular = udp_socket(port);
  hear(regular);
  for (int i = 0; i < kMany; ++i) {
    hear_stranger();
    if (i == kMany / 2) hear(regular);
  }
  EXPECT_EQ(answer(peer_at(port)).error, 0);
  EXPECT_TRUE(has_got(regular));
}

TEST_F(DatagramEndpointTest, StrangersDoNotMakeANamedPeerForgotten) {
  std::uint16_t port = 0;
  const Descriptor named = udp_socket(port);
  endpoint_.allow(peer_at(port));
  for (int i = 0; i < kMany; ++i) hear_stranger();
  EXPECT_EQ(answer(peer_at(port)).error, 0);
  EXPECT_TRUE(has_got(named));
}

TEST_F(DatagramEndpointTest, WhatGoesToOneThatWasForgottenIsLostAndTheSocketGoesOn) {
  std::uint16_t early_port = 0, late_port = 0;
  const Descriptor early = udp_socket(early_port), late = udp_socket(late_port);
  EXPECT_EQ(answer(peer_at(early_port)).error, EACCES) << "nobody has allowed it";
  sent_.clear();
  hear(early);
  for (int i = 0; i < kMany; ++i) hear_stranger();
  hear(late);
  EXPECT_EQ(answer(peer_at(early_port)).error, 0);
  EXPECT_FALSE(has_got(early));
  EXPECT_EQ(answer(peer_at(late_port)).error, 0);
  EXPECT_TRUE(has_got(late));
}

}  // namespace
}  // namespace remotecl::testing
