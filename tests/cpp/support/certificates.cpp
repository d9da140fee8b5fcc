#include "support/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "runtime/transport/tls/certificate.h"

namespace remotecl::testing {
namespace {

std::string content(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  std::string text(bytes, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

std::string pem(X509* certificate) {
  BIO* const bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate);
  return content(bio);
}

std::string pem(EVP_PKEY* key) {
  BIO* const bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  return content(bio);
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  if (extension == nullptr) throw std::runtime_error("no such extension: " + value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509* unsigned_certificate(EVP_PKEY* key, const std::string& common_name, long seconds) {
  static long serial = 0;
  X509* const made = X509_new();
  X509_set_version(made, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(made), std::min(0L, seconds) - 3600);
  X509_gmtime_adj(X509_getm_notAfter(made), seconds);
  X509_set_pubkey(made, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
  return made;
}

}  // namespace

PrivateFolder::PrivateFolder() {
  std::string path = std::filesystem::temp_directory_path() / "remotecl-test-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = path;
}

PrivateFolder::~PrivateFolder() { std::filesystem::remove_all(path_); }

std::string PrivateFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name)) << text;
  ::chmod(path(name).c_str(), 0600);
  return path(name);
}

CertificateFiles own_certificate(const PrivateFolder& folder, const std::string& name) {
  const NewCertificate made = make_certificate({"localhost"});
  return {folder.write(name + ".pem", made.certificate), folder.write(name + "-key.pem", made.key), made.pin};
}

struct Authority::State {
  EVP_PKEY* key = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
  X509* certificate = unsigned_certificate(key, "the tests", 3600);
  ~State() {
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
};

Authority::Authority(const PrivateFolder& folder) : folder_(folder), state_(std::make_unique<State>()) {
  X509* const own = state_->certificate;
  X509_set_issuer_name(own, X509_get_subject_name(own));
  extend(own, own, NID_basic_constraints, "critical,CA:TRUE");
  extend(own, own, NID_key_usage, "critical,keyCertSign");
  X509_sign(own, state_->key, EVP_sha256());
  static int number = 0;
  file_ = folder_.write("authority-" + std::to_string(++number) + ".pem", pem(own));
}

Authority::~Authority() = default;

CertificateFiles Authority::sign(const std::string& name, const std::string& subject, long seconds) const {
  EVP_PKEY* const key = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
  X509* const made = unsigned_certificate(key, name, seconds);
  X509_set_issuer_name(made, X509_get_subject_name(state_->certificate));
  extend(made, state_->certificate, NID_subject_alt_name, subject);
  X509_sign(made, state_->key, EVP_sha256());
  CertificateFiles files{folder_.write(name + ".pem", pem(made)), folder_.write(name + "-key.pem", pem(key)), {}};
  pin_of(*made, files.pin);
  X509_free(made);
  EVP_PKEY_free(key);
  return files;
}

}  // namespace remotecl::testing
