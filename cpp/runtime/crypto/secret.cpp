#include "runtime/crypto/secret.h"

#include <openssl/crypto.h>
#include <sys/random.h>

#include <cerrno>
#include <system_error>

namespace remotecl {

void fill_random(MutableBytes bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::getrandom(bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw std::system_error(errno, std::generic_category(), "getrandom");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

Secret random_secret() {
  Secret secret;
  fill_random(std::as_writable_bytes(std::span(secret)));
  return secret;
}

bool same_bytes(Bytes left, Bytes right) {
  return left.size() == right.size() && CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace remotecl
