#include "runtime/crypto/crypto_library.h"

#include <openssl/crypto.h>
#include <openssl/err.h>

namespace remotecl {

ossl_lib_ctx_st* crypto_library() {
  static OSSL_LIB_CTX* const library = [] {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
    return OSSL_LIB_CTX_new();
  }();
  return library;
}

std::string crypto_error() {
  const unsigned long error = ERR_peek_last_error();
  const char* const text = ERR_reason_error_string(error);
  ERR_clear_error();
  return text != nullptr ? text : "unknown reason " + std::to_string(error);
}

}  // namespace remotecl
