#include "server/admission/peer_rules.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace remotecl::testing {
namespace {

using server::PeerRules;

const Address kLocal{"127.0.0.1", 40'000}, kRemote{"192.0.2.7", 40'000};

bool allows(const PeerRules& rules, const Address& to, const Address& client = kRemote) {
  return rules.objection(to, client).empty();
}

TEST(PeerRules, WithoutAnyServersAreEverywhereButOnPortsOfOtherServices) {
  const PeerRules rules;
  EXPECT_TRUE(allows(rules, {"10.0.0.1", 10990}));
  EXPECT_TRUE(allows(rules, {"2001:db8::1", 1024}));
  EXPECT_FALSE(allows(rules, {"10.0.0.1", 22}));
  EXPECT_FALSE(allows(rules, {"2001:db8::1", 443}));
}

TEST(PeerRules, TheServersOwnAddressesAndItsLinksAreForClientsOfItsMachine) {
  const PeerRules rules;
  for (const char* host : {"127.0.0.1", "127.9.9.9", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1", "169.254.169.254",
                           "fe80::1", "fe80::1%eth0"}) {
    EXPECT_FALSE(allows(rules, {host, 10990})) << host;
    EXPECT_TRUE(allows(rules, {host, 10990}, kLocal)) << host;
  }
}

TEST(PeerRules, NetworksAndPortsBoundThem) {
  const PeerRules rules({"10.1.0.0/20:10990-10999", "[fd00::/9]:20000", "192.0.2.1"});
  EXPECT_TRUE(allows(rules, {"10.1.15.255", 10990}));
  EXPECT_TRUE(allows(rules, {"::ffff:10.1.0.1", 10999}));
  EXPECT_FALSE(allows(rules, {"10.1.16.0", 10990}));
  EXPECT_FALSE(allows(rules, {"10.1.0.1", 11000}));
  EXPECT_TRUE(allows(rules, {"fd7f::1", 20000}));
  EXPECT_FALSE(allows(rules, {"fd80::1", 20000}));
  EXPECT_FALSE(allows(rules, {"fd00::1", 20001}));
  EXPECT_TRUE(allows(rules, {"192.0.2.1", 5000}));
  EXPECT_FALSE(allows(rules, {"192.0.2.2", 5000}));
  EXPECT_FALSE(allows(rules, {"gpu1", 10990})) << "names are looked up before";
  EXPECT_TRUE(allows(PeerRules({"any:22"}), {"10.0.0.1", 22}));
  EXPECT_FALSE(allows(PeerRules({"none"}), {"10.0.0.1", 10990}));
  EXPECT_FALSE(allows(PeerRules({"none"}), {"127.0.0.1", 10990}, kLocal));
}

TEST(PeerRules, WhatIsNoRuleIsQuoted) {
  for (const char* text : {"", "gpu1", "10.0.0.1/33", "fd00::/129", "10.0.0.1:", "10.0.0.1:x", "10.0.0.1:1-",
                           "[fd00::1", "[fd00::1]x", "[fd00::1]:", "any:70000"}) {
    try {
      const PeerRules rules({text});
      ADD_FAILURE() << "\"" << text << "\" was taken";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("\"" + std::string(text) + "\""), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace remotecl::testing
