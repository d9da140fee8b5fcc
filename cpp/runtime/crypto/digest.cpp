#include "runtime/crypto/digest.h"

#include <openssl/evp.h>

#include <new>

namespace remotecl {
namespace {

// From our own library context and never freed; see crypto_library().
const EVP_MD* algorithm() {
  static const EVP_MD* const md = [] {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
    return EVP_MD_fetch(OSSL_LIB_CTX_new(), "SHA256", nullptr);
  }();
  return md;
}

}  // namespace

Digest sha256(Bytes bytes) {
  Digest digest{};
  unsigned int size = 0;
  const bool ok =
      algorithm() != nullptr && EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, algorithm(), nullptr) == 1;
  if (!ok || size != digest.size()) throw std::bad_alloc();  // the algorithm is linked in
  return digest;
}

}  // namespace remotecl
