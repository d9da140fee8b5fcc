#include "runtime/transport/tls/certificate.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <stdexcept>

#include "runtime/crypto/crypto_library.h"
#include "runtime/transport/connection.h"
#include "runtime/transport/tls/private_file.h"

namespace remotecl {
namespace {

constexpr std::size_t kFileSizeMax = 1u << 20;

template <auto kFree>
struct Free {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Bio = std::unique_ptr<BIO, Free<BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;

Bio bio_over(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// There is nobody to ask for a passphrase.
int no_passphrase(char*, int, int, void*) { return 0; }

Certificate next_certificate(BIO* from) {
  X509* certificate = X509_new_ex(crypto_library(), nullptr);
  if (PEM_read_bio_X509(from, &certificate, nullptr, nullptr) == nullptr) {
    X509_free(certificate);
    return nullptr;
  }
  return Certificate(certificate);
}

void add_extension(X509* certificate, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1) throw std::runtime_error(crypto_error());
}

void name(X509* certificate, const std::vector<std::string>& host_names) {
  X509_NAME* const subject = X509_get_subject_name(certificate);
  const auto* const text = reinterpret_cast<const unsigned char*>("remotecl-server");
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, text, -1, -1, 0);
  X509_set_issuer_name(certificate, subject);
  std::string names;
  for (const std::string& host : host_names) names += (names.empty() ? "DNS:" : ",DNS:") + host;
  if (!names.empty()) add_extension(certificate, NID_subject_alt_name, names);
}

Certificate certificate_for(EVP_PKEY* key, const std::vector<std::string>& host_names) {
  Certificate made(X509_new_ex(crypto_library(), nullptr));
  if (!made || X509_set_version(made.get(), X509_VERSION_3) != 1) throw std::runtime_error(crypto_error());
  unsigned char number[16];
  if (RAND_bytes_ex(crypto_library(), number, sizeof number, 0) != 1) throw std::runtime_error(crypto_error());
  number[0] &= 0x7f;
  const std::unique_ptr<BIGNUM, Free<BN_free>> serial(BN_bin2bn(number, sizeof number, nullptr));
  BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(made.get()));
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -24L * 3600);                 // for machines whose clocks are slow
  ASN1_TIME_set_string_X509(X509_getm_notAfter(made.get()), "99991231235959Z");  // "never" in RFC 5280
  X509_set_pubkey(made.get(), key);
  name(made.get(), host_names);
  add_extension(made.get(), NID_basic_constraints, "critical,CA:FALSE");
  add_extension(made.get(), NID_key_usage, "critical,digitalSignature");
  add_extension(made.get(), NID_ext_key_usage, "serverAuth,clientAuth");
  const std::unique_ptr<EVP_MD, Free<EVP_MD_free>> digest(EVP_MD_fetch(crypto_library(), "SHA256", nullptr));
  if (X509_sign(made.get(), key, digest.get()) == 0) throw std::runtime_error(crypto_error());
  return made;
}

Key new_key() {
  Key key(EVP_PKEY_Q_keygen(crypto_library(), nullptr, "EC", "P-256"));
  if (!key) throw std::runtime_error(crypto_error());
  return key;
}

std::string content(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

}  // namespace

bool pin_of(const x509_st& certificate, KeyPin& pin) {
  unsigned char* encoded = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(&certificate), &encoded);
  if (size <= 0) return false;
  const bool ok = EVP_Q_digest(crypto_library(), "SHA256", nullptr, encoded, static_cast<std::size_t>(size), pin.data(),
                               nullptr) == 1;
  OPENSSL_free(encoded);
  return ok;
}

KeyPin use_certificate(ssl_ctx_st* context, const std::string& certificate_file, const std::string& key_file) {
  const auto fail = [](const std::string& kind, const std::string& file, const std::string& why) {
    return ConnectionError("cannot use the " + kind + " " + file + ": " + why);
  };
  const std::string certificates = read_public_file(certificate_file, "certificate", kFileSizeMax);
  const Bio chain = bio_over(certificates);
  const Certificate own = next_certificate(chain.get());
  if (!own) throw fail("certificate", certificate_file, "it holds none in PEM; `remotecl keygen` makes one");
  if (SSL_CTX_use_certificate(context, own.get()) != 1) throw fail("certificate", certificate_file, crypto_error());
  while (const Certificate issuer = next_certificate(chain.get())) SSL_CTX_add1_chain_cert(context, issuer.get());
  crypto_error();  // clears the error of reaching the end of the file

  const std::string secret = read_private_file(key_file, "private key", kFileSizeMax);
  const Key key(
      PEM_read_bio_PrivateKey_ex(bio_over(secret).get(), nullptr, no_passphrase, nullptr, crypto_library(), nullptr));
  if (!key) throw fail("private key", key_file, "it holds none in PEM, or one that is locked with a passphrase");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    throw fail("private key", key_file, "it is not the key of the certificate in " + certificate_file);
  }
  KeyPin pin{};
  if (!pin_of(*own, pin)) throw fail("certificate", certificate_file, crypto_error());
  return pin;
}

KeyPin use_new_certificate(ssl_ctx_st* context, const std::vector<std::string>& host_names) {
  const Key key = new_key();
  const Certificate certificate = certificate_for(key.get(), host_names);
  KeyPin pin{};
  if (SSL_CTX_use_certificate(context, certificate.get()) != 1 || SSL_CTX_use_PrivateKey(context, key.get()) != 1 ||
      !pin_of(*certificate, pin)) {
    throw std::runtime_error(crypto_error());
  }
  return pin;
}

NewCertificate make_certificate(const std::vector<std::string>& host_names) {
  const Key key = new_key();
  const Certificate certificate = certificate_for(key.get(), host_names);
  const Bio certificate_text(BIO_new(BIO_s_mem())), key_text(BIO_new(BIO_s_mem()));
  NewCertificate made{};
  if (PEM_write_bio_X509(certificate_text.get(), certificate.get()) != 1 ||
      PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1 ||
      !pin_of(*certificate, made.pin)) {
    throw std::runtime_error(crypto_error());
  }
  made.certificate = content(certificate_text.get());
  made.key = content(key_text.get());
  return made;
}

}  // namespace remotecl
