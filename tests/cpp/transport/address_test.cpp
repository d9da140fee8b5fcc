#include "runtime/transport/address.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace remotecl {
namespace {

TEST(Address, IsParsed) {
  EXPECT_EQ(parse_address("gpu1", 10), (Address{"gpu1", 10}));
  EXPECT_EQ(parse_address("gpu1:99", 10), (Address{"gpu1", 99}));
  EXPECT_EQ(parse_address("127.0.0.1:0", 10), (Address{"127.0.0.1", 0}));
  EXPECT_EQ(parse_address("::1", 10), (Address{"::1", 10}));
  EXPECT_EQ(parse_address("[::1]", 10), (Address{"::1", 10}));
  EXPECT_EQ(parse_address("[fe80::1]:65535", 10), (Address{"fe80::1", 65535}));
}

TEST(Address, TextIsParsedToTheSame) {
  for (const Address& address : {Address{"gpu1", 7}, Address{"10.0.0.1", 10990}, Address{"::1", 80}}) {
    EXPECT_EQ(parse_address(address.text(), 1), address);
  }
}

TEST(Address, BadOnesAreQuotedInTheError) {
  for (const char* text :
       {"", ":80", "host:", "host:port", "host:65536", "host:-1", "host: 80", "[::1", "[::1]80", "host:80x", "[]:80"}) {
    try {
      parse_address(text, 10);
      ADD_FAILURE() << "\"" << text << "\" was taken";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("\"" + std::string(text) + "\""), std::string::npos) << error.what();
    }
  }
}

TEST(Addresses, LoopbackIsWhatOnlyThisMachineReaches) {
  for (const char* host : {"localhost", "127.0.0.1", "127.255.3.4", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE((Address{host, 1}.is_loopback())) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "10.127.0.1", "128.0.0.1", "::2", "::ffff:10.0.0.1", "127.example.org"}) {
    EXPECT_FALSE((Address{host, 1}.is_loopback())) << host;
  }
}

}  // namespace
}  // namespace remotecl
