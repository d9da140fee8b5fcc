#include "runtime/handshake/proof.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <algorithm>
#include <memory>
#include <new>

#include "runtime/crypto/crypto_library.h"

namespace remotecl {
namespace {

// Precedes the transcript in the input of the MAC.
struct Heading {
  std::array<std::uint8_t, 8> magic;
  std::uint32_t version;
  Claim claim;
  REMOTECL_FIELDS(magic, version, claim)
};
constexpr std::size_t kHeadingSize = 16;
constexpr std::size_t kTranscriptSize = 68;

// Never freed, like the library context.
EVP_MAC* hmac() {
  static EVP_MAC* const mac = EVP_MAC_fetch(crypto_library(), "HMAC", nullptr);
  return mac;
}

struct FreeMac {
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};

}  // namespace

Proof prove(Bytes key, Claim claim, const Transcript& transcript) {
  const auto heading = encode_frame<Heading, kHeadingSize>({kMagic, kProtocolVersion, claim});
  const auto rest = encode_frame<Transcript, kTranscriptSize>(transcript);
  const auto octets = [](Bytes bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); };
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                   OSSL_PARAM_construct_end()};
  Proof proof{};
  std::size_t size = 0;
  const std::unique_ptr<EVP_MAC_CTX, FreeMac> context(EVP_MAC_CTX_new(hmac()));
  const bool ok = context && EVP_MAC_init(context.get(), octets(key), key.size(), parameters) == 1 &&
                  EVP_MAC_update(context.get(), octets(heading), heading.size()) == 1 &&
                  EVP_MAC_update(context.get(), octets(rest), rest.size()) == 1 &&
                  EVP_MAC_final(context.get(), proof.data(), &size, proof.size()) == 1 && size == proof.size();
  if (!ok) throw std::bad_alloc();  // nothing but memory can be missing, because the algorithm is linked in
  return proof;
}

Secret prove_briefly(Bytes key, Claim claim, const Transcript& transcript) {
  const Proof proof = prove(key, claim, transcript);
  Secret half;
  std::copy_n(proof.begin(), half.size(), half.begin());
  return half;
}

void prepare_proofs() {
  [[maybe_unused]] static const Secret first = prove_briefly(as_bytes("any key"), Claim::kConnecting, {});
}

}  // namespace remotecl
