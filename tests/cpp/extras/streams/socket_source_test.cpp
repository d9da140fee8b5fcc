// Frames from senders that connect one after another.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "extras/streams/support/open_file.h"
#include "extras/streams/support/plugin_error.h"
#include "stream_program.h"

namespace remotecl::plugins {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

std::uint16_t free_port() {
  const File socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

void send_to(std::uint16_t port, const std::string& bytes) {
  const File socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::send(socket.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
}

TEST(SocketSource, TakesOneSenderAfterAnother) {
  const std::uint16_t port = free_port();
  StreamProgram program({"listen:" + std::to_string(port)});
  const std::string name = "tcp-listen:127.0.0.1:" + std::to_string(port) + "?records=4&loop=1&wait=1000";
  std::string frame;
  FrameInfo info;
  ASSERT_EQ(program.read(name, frame, info), kGone) << "nobody has connected";
  send_to(port, "abcd");
  ASSERT_EQ(program.read(name, frame, info), 0) << program.why();
  EXPECT_EQ(frame, "abcd");
  send_to(port, "efghij");  // the second frame has no end
  send_to(port, "klmn");
  for (const char* const wanted : {"efgh", "klmn"}) {
    ASSERT_EQ(program.read(name, frame, info), 0) << program.why();
    EXPECT_EQ(frame, wanted);
  }
  EXPECT_EQ(info.number, 2u);
}

}  // namespace
}  // namespace remotecl::plugins
