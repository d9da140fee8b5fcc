#include "runtime/handshake/proof.h"

#include <gtest/gtest.h>

#include <set>

#include "runtime/crypto/secret.h"

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
  proofs.insert(prove_briefly(kKey, Claim::kRdma, transcript()));
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
  EXPECT_EQ(proofs.size(), 13u);
  EXPECT_EQ(half(transcript()), half(transcript()));
}

// By another implementation: Python's hmac over the bytes of heading and transcript.
TEST(Proof, IsHmacSha256) {
  const Proof proof = prove(kKey, Claim::kConnecting, transcript());
  const Proof expected = {0xab, 0x47, 0xa8, 0xc0, 0x33, 0xee, 0xb0, 0x03, 0xc4, 0x0b, 0x68,
                          0xce, 0xdc, 0x6c, 0x5c, 0x46, 0x4f, 0x7c, 0x61, 0x83, 0x09, 0x44,
                          0xa3, 0x75, 0x2f, 0x87, 0x89, 0xe7, 0xc2, 0xf7, 0x12, 0xb4};
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
