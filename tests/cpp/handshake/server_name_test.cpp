#include "runtime/handshake/server_name.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace remotecl {
namespace {

TEST(ServerNames, AreSeparatedByCommas) {
  const auto names = parse_server_names(" gpu1, gpu2:5?token=/home/me/token ,,[::1]:6,", 10);
  ASSERT_EQ(names.size(), 3u);
  EXPECT_EQ(names[0].address, (Address{"gpu1", 10}));
  EXPECT_EQ(names[0].token_file, "");
  EXPECT_EQ(names[1].address, (Address{"gpu2", 5}));
  EXPECT_EQ(names[1].token_file, "/home/me/token");
  EXPECT_EQ(names[2].address, (Address{"::1", 6}));
  EXPECT_TRUE(parse_server_names("", 10).empty());
  EXPECT_TRUE(parse_server_names(" , ", 10).empty());
  EXPECT_THROW(parse_server_names("gpu1,:5", 10), std::invalid_argument);
}

TEST(ServerNames, FilesMayHaveAnyName) {
  EXPECT_EQ(parse_server_name("gpu1?token=a%2cb%25%26c%20d?=", 10).token_file, "a,b%&c d?=");
}

TEST(ServerNames, SayHowTheServerIsKnown) {
  const std::string pin = "sha256:" + std::string(62, '0') + "1f";
  const ServerName pinned = parse_server_name("gpu1?pin=" + pin + "&token=/t", 10);
  ASSERT_TRUE(pinned.trust.pin);
  EXPECT_EQ(pinned.trust.pin->back(), 0x1f);
  EXPECT_EQ(pinned.token_file, "/t");
  EXPECT_TRUE(pinned.trust.is_wanted());
  EXPECT_FALSE(parse_server_name("gpu1?token=/t", 10).trust.is_wanted());
  const ServerName signed_one = parse_server_name("gpu1?ca=/a%2cb&certificate=/c&key=/k", 10);
  EXPECT_EQ(signed_one.trust.ca_file, "/a,b");
  EXPECT_EQ(signed_one.trust.certificate_file, "/c");
  EXPECT_EQ(signed_one.trust.key_file, "/k");
  EXPECT_TRUE(signed_one.trust.is_wanted());
  for (const std::string& text : {std::string("[::1]:7"), "gpu1:10?token=/t&pin=" + pin,
                                  std::string("gpu1:10?token=a%2Cb%25&ca=/a%26b&certificate=/c&key=/k%3F%20")}) {
    EXPECT_EQ(parse_server_name(text, 10).text(), text);
  }
}

TEST(ServerNames, AskForDevicesAlone) {
  const ServerName name = parse_server_name("gpu1?token=f&exclusive=yes", 10990);
  EXPECT_TRUE(name.is_exclusive);
  EXPECT_EQ(name.text(), "gpu1:10990?token=f&exclusive=yes");
  EXPECT_FALSE(parse_server_name("gpu1", 10990).is_exclusive);
  EXPECT_THROW(parse_server_name("gpu1?exclusive=perhaps", 10990), std::invalid_argument);
}

TEST(ServerNames, SayOverHowManyConnectionsBulkDataGoes) {
  EXPECT_EQ(parse_server_name("gpu1", 10990).streams, 0u);
  const ServerName name = parse_server_name("gpu1?streams=8", 10990);
  EXPECT_EQ(name.streams, 8u);
  EXPECT_EQ(name.text(), "gpu1:10990?streams=8");
  for (const char* const wrong : {"gpu1?streams=0", "gpu1?streams=9", "gpu1?streams=2x", "gpu1?streams=many"}) {
    EXPECT_THROW(parse_server_name(wrong, 10990), std::invalid_argument) << wrong;
  }
}

TEST(ServerNames, WhatIsWrongIsQuotedAndExplained) {
  const auto expect = [](const char* text, const char* words) {
    try {
      parse_server_name(text, 10);
      ADD_FAILURE() << "\"" << text << "\" was taken";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  expect("gpu1?tokn=x", "\"tokn\" is unknown");
  expect("gpu1?token", "empty");
  expect("gpu1?token=", "empty");
  expect("gpu1?token=a&token=b", "twice");
  expect("gpu1?pin=sha256:12", "64 hexadecimal digits");
  expect("gpu1?pin=a&pin=b", "64 hexadecimal digits");
  expect("gpu1?ca=a&ca=b", "twice");
  expect("gpu1?certificate=a&key=b", "neither pin= nor ca=");
  expect("gpu1?ca=a&key=b", "without its certificate");
  expect("gpu1?token=a%2", "hexadecimal");
  expect("gpu1?token=a%zz", "hexadecimal");
  EXPECT_THROW(parse_server_name("?token=a", 10), std::invalid_argument);
}

}  // namespace
}  // namespace remotecl
