#pragma once

#include <string>
#include <vector>

#include "runtime/crypto/key_pin.h"

struct x509_st;
struct ssl_ctx_st;

namespace remotecl {

// The pin of the certificate's key. Returns false if memory is short.
bool pin_of(const x509_st& certificate, KeyPin& pin);

// Makes connections of the context present the certificate in a PEM file, and the chain behind it. Its key is
// in a file that no other user may read. Returns the key's pin. Throws ConnectionError.
KeyPin use_certificate(ssl_ctx_st* context, const std::string& certificate_file, const std::string& key_file);

// The same with a new key, which is never stored, and a self-signed certificate for these names. Throws
// std::runtime_error.
KeyPin use_new_certificate(ssl_ctx_st* context, const std::vector<std::string>& host_names);

// A new key and its self-signed certificate, both in PEM.
struct NewCertificate {
  std::string certificate;
  std::string key;
  KeyPin pin;
};
// Creates both for these names. The certificate never expires: clients that pin the key do not care, and a
// new key gets a new certificate. Throws std::runtime_error.
NewCertificate make_certificate(const std::vector<std::string>& host_names);

}  // namespace remotecl
