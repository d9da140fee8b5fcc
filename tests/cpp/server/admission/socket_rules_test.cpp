#include "server/admission/socket_rules.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <stdexcept>

namespace remotecl::testing {
namespace {

using server::AddressRule;
using server::ip_number;
using server::IpNumber;
using server::SocketRules;
using For = SocketRules::For;

const std::vector<IpNumber> kOwn = {*ip_number("127.0.0.1"), *ip_number("10.1.2.3"), *ip_number("2001:db8::7")};

bool allows(const SocketRules& rules, const std::string& address, std::uint16_t port, const std::string& name = "") {
  return rules.allows(*ip_number(address), port, name.empty() ? address : name, kOwn);
}

TEST(SocketRules, WithoutARuleNothingIsOpen) {
  for (const For use : {For::kConnect, For::kBind}) {
    const SocketRules rules(use, {});
    for (const char* address : {"192.0.2.1", "127.0.0.1", "0.0.0.0", "2001:db8::1", "::1", "::"}) {
      EXPECT_FALSE(allows(rules, address, 7000)) << address;
    }
    EXPECT_FALSE(rules.allows_path("/run/x.sock"));
  }
}

TEST(SocketRules, NetworksAndPortsBoundThem) {
  const SocketRules rules(For::kConnect, {"10.0.0.0/8:1024-65535", "[2001:db8::/32]:443", "192.0.2.0/24:*"});
  EXPECT_TRUE(allows(rules, "10.255.0.1", 1024));
  EXPECT_TRUE(allows(rules, "::ffff:10.255.0.1", 1024)) << "the same address";
  EXPECT_FALSE(allows(rules, "10.255.0.1", 1023));
  EXPECT_FALSE(allows(rules, "11.0.0.1", 1024));
  EXPECT_TRUE(allows(rules, "2001:db8:1::1", 443));
  EXPECT_FALSE(allows(rules, "2001:db8:1::1", 444));
  EXPECT_FALSE(allows(rules, "2001:db9::1", 443));
  EXPECT_TRUE(allows(rules, "192.0.2.200", 1));
  EXPECT_FALSE(allows(rules, "192.0.2.200", 0));
}

TEST(SocketRules, LoopbackLinkLocalAndOwnAddressesAreClosedUnlessTheyAreNamed) {
  const SocketRules wide(For::kConnect, {"0.0.0.0/0:*", "[::/0]:*"});
  for (const char* address : {"127.0.0.1", "127.8.8.8", "0.0.0.0", "169.254.169.254", "224.0.0.1", "255.255.255.255",
                              "10.1.2.3", "::1", "::", "fe80::1", "ff02::1", "2001:db8::7", "::ffff:127.0.0.1"}) {
    EXPECT_FALSE(allows(wide, address, 80)) << address;
    const std::string host =
        std::string(address).find(':') == std::string::npos ? address : "[" + std::string(address) + "]";
    EXPECT_TRUE(allows(SocketRules(For::kConnect, {host + ":80"}), address, 80)) << address;
  }
  EXPECT_TRUE(allows(wide, "10.1.2.4", 80));
  EXPECT_TRUE(allows(SocketRules(For::kConnect, {"127.0.0.0/8:*"}), "127.8.8.8", 80));
  EXPECT_TRUE(allows(SocketRules(For::kConnect, {"[fe80::/10]:*"}), "fe80::1", 80));
  EXPECT_FALSE(allows(SocketRules(For::kConnect, {"126.0.0.0/7:*"}), "127.0.0.1", 80));
  EXPECT_FALSE(allows(SocketRules(For::kConnect, {"10.1.0.0/16:*"}), "10.1.2.3", 80)) << "the machine's own";
}

TEST(SocketRules, NamesAreThoseThatTheKernelSays) {
  const SocketRules rules(For::kConnect, {"db.Example:11211", "localhost:*"});
  EXPECT_TRUE(allows(rules, "192.0.2.1", 11211, "db.example"));
  EXPECT_TRUE(allows(rules, "192.0.2.1", 11211, "DB.example."));
  EXPECT_FALSE(allows(rules, "192.0.2.1", 11211, "db.example.net"));
  EXPECT_FALSE(allows(rules, "192.0.2.1", 11211)) << "by its number";
  EXPECT_FALSE(allows(rules, "192.0.2.1", 11212, "db.example"));
  for (const char* inside : {"127.0.0.1", "10.1.2.3", "169.254.169.254", "::1"}) {
    EXPECT_FALSE(allows(rules, inside, 11211, "db.example")) << "whoever answers for the name chose " << inside;
  }
  EXPECT_TRUE(allows(rules, "127.0.0.1", 80, "localhost"));
  EXPECT_FALSE(allows(rules, "127.0.0.1", 80)) << "by its number";
}

TEST(SocketRules, AWildcardBindsEveryAddressOfItsFamily) {
  const SocketRules rules(For::kBind, {"0.0.0.0:7000-7999"});
  for (const char* address : {"0.0.0.0", "127.0.0.1", "10.1.2.3"}) EXPECT_TRUE(allows(rules, address, 7999)) << address;
  EXPECT_FALSE(allows(rules, "::", 7000));
  EXPECT_FALSE(allows(rules, "0.0.0.0", 8000));
  EXPECT_FALSE(allows(rules, "0.0.0.0", 0)) << "the system would choose any port";
  const SocketRules one(For::kBind, {"10.1.2.3:*", "[::]:*"});
  EXPECT_TRUE(allows(one, "10.1.2.3", 0)) << "a machine binds its own addresses";
  EXPECT_TRUE(allows(one, "10.1.2.3", 1024));
  EXPECT_FALSE(allows(one, "10.1.2.3", 1023)) << "ports of other services need a rule that names them";
  EXPECT_FALSE(allows(one, "0.0.0.0", 7000)) << "which would be the others, too";
  EXPECT_TRUE(allows(one, "::1", 7000));
  EXPECT_TRUE(allows(SocketRules(For::kBind, {"0.0.0.0:80"}), "0.0.0.0", 80));
}

TEST(SocketRules, PathsAreExact) {
  const SocketRules rules(For::kConnect, {"unix:/run/x.sock"});
  EXPECT_TRUE(rules.allows_path("/run/x.sock"));
  for (const char* path :
       {"/run/x.sock/", "/run/x.soc", "/run/./x.sock", "/run/../run/x.sock", "//run/x.sock", "run/x.sock", "", "/"}) {
    EXPECT_FALSE(rules.allows_path(path)) << path;
  }
  EXPECT_FALSE(rules.allows_path(std::string("/run/x.sock\0", 12)));
  EXPECT_FALSE(allows(rules, "192.0.2.1", 0));
}

TEST(SocketRules, WhatIsNoRuleIsQuoted) {
  const std::vector<std::string> never = {
      "",      "10.0.0.0/8", "10.0.0.0/33:*",  "10.0.0.1:",   "10.0.0.1:x",   "10.0.0.1:9-1",
      "[::1",  "[::1]",      "unix:",          "unix:x",      "unix:/a/../b", "unix:/a/",
      "a b:1", "-x:1",       "10.0.0.1:70000", "300.0.0.1:1", "::1:80"};
  for (const For use : {For::kConnect, For::kBind}) {
    for (const std::string& text : never) {
      try {
        const SocketRules rules(use, {text});
        ADD_FAILURE() << "\"" << text << "\" was taken";
      } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find("\"" + text + "\""), std::string::npos) << error.what();
      }
    }
  }
  EXPECT_THROW(SocketRules(For::kBind, {"db.example:1"}), std::invalid_argument) << "a name is not an address";
}

// Compared with the definition, bit by bit.
TEST(SocketRules, RandomNetworksAreWhatTheirBitsSay) {
  const char* const wanted = std::getenv("REMOTECL_TEST_SEED");
  const unsigned seed = wanted != nullptr ? static_cast<unsigned>(std::atoi(wanted)) : std::random_device{}();
  SCOPED_TRACE("REMOTECL_TEST_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  const auto bit = [](const IpNumber& number, unsigned at) { return number[at / 8] >> (7 - at % 8) & 1; };
  for (int i = 0; i < 20'000; ++i) {
    AddressRule rule;
    IpNumber address;
    for (auto& byte : rule.network) byte = static_cast<std::uint8_t>(random());
    address = rule.network;
    rule.prefix = random() % (AddressRule::kBits + 1);
    const unsigned changed = random() % AddressRule::kBits;
    if (random() % 2 == 0)
      address[changed / 8] = static_cast<std::uint8_t>(address[changed / 8] ^ (0x80 >> changed % 8));
    bool same = true;
    for (unsigned at = 0; at < rule.prefix; ++at) same = same && bit(address, at) == bit(rule.network, at);
    ASSERT_EQ(rule.has(address), same) << "prefix " << rule.prefix << ", bit " << changed;
  }
}

}  // namespace
}  // namespace remotecl::testing
