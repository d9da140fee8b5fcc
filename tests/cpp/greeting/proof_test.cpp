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
  EXPECT_EQ(proofs.size(), 11u);
  EXPECT_EQ(half(transcript()), half(transcript()));
}

// By another implementation: Python's hmac over the bytes of heading and transcript.
TEST(Proof, IsHmacSha256) {
  const Proof proof = prove(kKey, Claim::kConnecting, transcript());
  const Proof expected = {0xa8, 0xa0, 0xb4, 0x0a, 0x7c, 0x7e, 0x3c, 0x82, 0xdf, 0x87, 0xef,
                          0xa9, 0xf2, 0x9b, 0xa5, 0x88, 0x08, 0xe0, 0xa5, 0x51, 0x65, 0x39,
                          0x7f, 0xf0, 0xc2, 0xab, 0xa4, 0xa0, 0xe2, 0xe9, 0x1f, 0x41};
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
