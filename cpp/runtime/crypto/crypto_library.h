#pragma once

#include <string>

struct ossl_lib_ctx_st;

namespace remotecl {

// A library context of our own, which is never freed: the process may use OpenSSL too, and may end while one
// of its threads encrypts. Any thread.
ossl_lib_ctx_st* crypto_library();

// OpenSSL's message about the last failed call in this thread; clears it.
std::string crypto_error();

}  // namespace remotecl
