#include "runtime/greeting/proof.h"

#include <gtest/gtest.h>

#include <set>

#include "runtime/greeting/secret.h"

namespace remotecl {
namespace {

const Bytes kKey = as_bytes("a token of some length");

Transcript transcript() { return {Role::kControl, kFeatureToken, 0, 4711, 99, Secret{1, 2, 3}, Secret{4, 5, 6}}; }

TEST(Proof, DependsOnEverythingThatWasSaid) {
  const auto half = [](const Transcript& of) { return prove_briefly(kKey, Claim::kConnecting, of); };
  std::set<Secret> proofs{half(transcript()),
                          prove_briefly(as_bytes("another token altogether"), Claim::kConnecting, transcript())};
  proofs.insert(prove_briefly(kKey, Claim::kAccepting, transcript()));
  proofs.insert(prove_briefly(kKey, Claim::kSessionSecret, transcript()));
  proofs.insert(prove_briefly(kKey, Claim::kStripes, transcript()));
  const auto changed = [&](auto change) {
    Transcript other = transcript();
    change(other);
    proofs.insert(half(other));
  };
  changed([](Transcript& other) { other.role = Role::kBulk; });
  changed([](Transcript& other) { other.offered = 0; });
  changed([](Transcript& other) { other.taken = 1; });
  changed([](Transcript& other) { ++other.session; });
  changed([](Transcript& other) { ++other.epoch; });
  changed([](Transcript& other) { ++other.client_nonce[15]; });
  changed([](Transcript& other) { ++other.server_nonce[15]; });
  EXPECT_EQ(proofs.size(), 12u);
  EXPECT_EQ(half(transcript()), half(transcript()));
}

// By another implementation: Python's hmac over the bytes of heading and transcript.
TEST(Proof, IsHmacSha256) {
  const Proof proof = prove(kKey, Claim::kConnecting, transcript());
  const Proof expected = {0x7c, 0x12, 0x6f, 0x2e, 0xf0, 0x3b, 0xb6, 0x95, 0x48, 0x47, 0x57,
                          0x6f, 0x60, 0x5e, 0x16, 0xd3, 0x0d, 0xbc, 0xb1, 0xd7, 0x66, 0x97,
                          0x2b, 0xf2, 0x24, 0x00, 0x10, 0xfc, 0x46, 0x5b, 0x65, 0xbe};
  EXPECT_EQ(proof, expected);
}

TEST(Secrets, AreComparedAsAWhole) {
  const Secret one = random_secret();
  Secret other = one;
  EXPECT_TRUE(same_secret(one, other));
  for (auto& byte : other) {
    byte ^= 0x80;
    EXPECT_FALSE(same_secret(one, other));
    byte ^= 0x80;
  }
  EXPECT_FALSE(same_bytes(kKey, kKey.first(3)));
  EXPECT_NE(random_secret(), random_secret());
}

}  // namespace
}  // namespace remotecl
