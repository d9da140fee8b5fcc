// What a kernel's socket takes from a stream.
#include "extras/kernel_sockets/space/stream_endpoint.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>

#include "extras/kernel_sockets/space/host_sockets.h"

namespace remotecl::testing {
namespace {

using namespace server;

// A receive of the system ends at an urgent byte, though more has come, and nothing reports that again.
TEST(StreamEndpointTest, WhatCameBehindAnUrgentByteIsReceivedToo) {
  std::uint16_t port = 0;
  const Descriptor listener = listen_on_loopback(port);
  const Descriptor peer = connect_to(port);
  Descriptor accepted = accept_from(listener);
  const int socket = accepted.get();
  StreamEndpoint endpoint(std::move(accepted));
  alignas(64) std::byte memory[4096] = {};
  ReceiveRing ring(RingBytes(memory, sizeof memory));
  send_all(peer, "abc", 3);
  ASSERT_EQ(::send(peer.get(), "!", 1, MSG_OOB), 1);
  send_all(peer, "def", 3);
  pollfd some{socket, POLLIN, 0};
  ASSERT_EQ(::poll(&some, 1, 10'000), 1);
  Moved moved;
  for (int i = 0; i < 100 && !moved.is_blocked; ++i) moved = endpoint.receive(ring);
  EXPECT_TRUE(moved.is_blocked);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(memory), ring.tail()), "abcdef");
}

}  // namespace
}  // namespace remotecl::testing
