#include "extras/kernel_sockets/space/socket_address.h"

#include <gtest/gtest.h>

namespace remotecl::server {
namespace {

TEST(SocketAddressTest, ReadsWhatKernelsName) {
  for (const char* text :
       {"tcp:10.0.0.1:80", "tcp:db.example:65535", "tcp:[::1]:7000", "udp:0.0.0.0:0", "unix:/run/x", "rcl:shuffle-3"}) {
    const auto address = parse_socket_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->text(), text);
  }
  EXPECT_EQ(parse_socket_address("tcp:[fe80::1]:9")->host, "fe80::1");
}

TEST(SocketAddressTest, RefusesEverythingElse) {
  for (const char* text : {"", "tcp", "tcp:", "tcp::80", "tcp:host", "tcp:host:", "tcp:host:65536", "tcp:host:-1",
                           "tcp:host:8x", "tcp:::1:80", "tcp:[]:80", "tcp:[::1:80", "http:host:80", "unix:relative",
                           "unix:", "rcl:", "tcp:a b:80", "tcp:\n:80"}) {
    EXPECT_FALSE(parse_socket_address(text)) << text;
  }
  EXPECT_FALSE(parse_socket_address("unix:/" + std::string(107, 'x')));
  EXPECT_FALSE(parse_socket_address("tcp:" + std::string(200, 'x') + ":1"));
}

}  // namespace
}  // namespace remotecl::server
