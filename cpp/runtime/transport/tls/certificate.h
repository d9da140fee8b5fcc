#pragma once

#include <string>
#include <vector>

#include "runtime/crypto/key_pin.h"

struct x509_st;
struct ssl_ctx_st;

namespace remotecl {

// The certificate's. False when memory is short.
bool pin_of(const x509_st& certificate, KeyPin& pin);

// Shows the certificate in a PEM file, and those behind it that lead to its issuer, on connections of the context. Its
// key is in a file that nobody else may read. Gives the key's pin. Throws ConnectionError.
KeyPin use_certificate(ssl_ctx_st* context, const std::string& certificate_file, const std::string& key_file);

// The same with a new key, which is never written anywhere, and a certificate for it that it has signed itself, for
// these names. Throws std::runtime_error.
KeyPin use_new_certificate(ssl_ctx_st* context, const std::vector<std::string>& host_names);

// A new key, and a certificate for it that it has signed itself, both PEM.
struct NewCertificate {
  std::string certificate;
  std::string key;
  KeyPin pin;
};
// For these names. It ends never: who pins the key cares for nothing else, and who makes another key makes a new one.
// Throws std::runtime_error.
NewCertificate make_certificate(const std::vector<std::string>& host_names);

}  // namespace remotecl
