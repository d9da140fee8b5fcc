#pragma once

#include <string>

struct ossl_lib_ctx_st;

namespace remotecl {

// OpenSSL's, of our own and never freed: the process may use OpenSSL too, and may be ending while a thread of it
// encrypts. Any thread.
ossl_lib_ctx_st* crypto_library();

// What OpenSSL says of the last call that failed in this thread; forgets it.
std::string crypto_error();

}  // namespace remotecl
