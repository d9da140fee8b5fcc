#include "runtime/greeting/server_name.h"

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
  expect("gpu1?token=a%2", "hexadecimal");
  expect("gpu1?token=a%zz", "hexadecimal");
  EXPECT_THROW(parse_server_name("?token=a", 10), std::invalid_argument);
}

}  // namespace
}  // namespace remotecl
