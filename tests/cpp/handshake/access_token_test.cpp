#include "runtime/handshake/access_token.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "runtime/transport/connection.h"

namespace remotecl {
namespace {

class AccessTokenTest : public ::testing::Test {
 protected:
  AccessTokenTest() {
    char name[] = "/tmp/remotecl-token-XXXXXX";
    directory_ = ::mkdtemp(name);
    path_ = directory_ + "/token";
  }
  ~AccessTokenTest() override {
    ::unlink(path_.c_str());
    ::rmdir(directory_.c_str());
  }
  void write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path_) << text;
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
  }
  std::string refusal() {
    try {
      read_token(path_);
    } catch (const ConnectionError& error) {
      return error.what();
    }
    return "";
  }

  std::string directory_, path_;
};

TEST_F(AccessTokenTest, BlanksAroundItDoNotCount) {
  write(" \t0123456789abcdef with words\r\n\n");
  EXPECT_EQ(as_text(read_token(path_).key()), "0123456789abcdef with words");
}

TEST_F(AccessTokenTest, OthersMustNotReadIt) {
  for (const mode_t mode : {0640, 0604, 0660, 0622, 0666}) {
    write("0123456789abcdef", mode);
    const std::string text = refusal();
    EXPECT_NE(text.find("chmod 600 " + path_), std::string::npos) << std::oct << mode << ": " << text;
  }
  write("0123456789abcdef", 0400);
  EXPECT_EQ(refusal(), "");
}

TEST_F(AccessTokenTest, SomebodyElsesMayBeReadableForTheGroup) {
  write("0123456789abcdef", 0440);
  if (::chown(path_.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "this takes root";
  EXPECT_EQ(refusal(), "");
  ASSERT_EQ(::chmod(path_.c_str(), 0444), 0);
  EXPECT_NE(refusal().find("chmod"), std::string::npos);
}

TEST_F(AccessTokenTest, WhatIsNoSecretIsRefused) {
  EXPECT_NE(refusal().find("No such file"), std::string::npos) << refusal();
  write("0123456789abcde\n");
  EXPECT_NE(refusal().find("16"), std::string::npos) << refusal();
  EXPECT_NE(refusal().find("keygen"), std::string::npos) << refusal();
  write(std::string(5000, 'x'));
  EXPECT_NE(refusal().find("4096"), std::string::npos) << refusal();
  path_ = directory_;
  EXPECT_NE(refusal().find("directory"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace remotecl
