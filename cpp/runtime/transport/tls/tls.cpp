#include "runtime/transport/tls/tls.h"

#include <openssl/ssl.h>

#include <new>

#include "runtime/crypto/crypto_library.h"
#include "runtime/transport/tls/certificate.h"
#include "runtime/transport/tls/private_file.h"

namespace remotecl {
namespace {

// The most bytes of certificates that a peer may present. A client is a stranger until then, so its
// certificates must fit into one handshake record.
constexpr long kServersCertificatesMax = 16L << 10;
constexpr long kClientsCertificatesMax = 7L << 10;

int judge(X509_STORE_CTX* store, void*) {
  auto* const ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  return static_cast<TlsConnection*>(SSL_get_app_data(ssl))->judge(store) ? 1 : 0;
}

// TLS 1.3 only. No session resumption, because each of our connections does its own handshake.
SslContext make_context(const SSL_METHOD* method) {
  SslContext context(SSL_CTX_new_ex(crypto_library(), nullptr, method));
  if (!context) throw ConnectionError("TLS cannot be used: " + crypto_error());
  SSL_CTX* const made = context.get();
  SSL_CTX_set_min_proto_version(made, TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(made, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
  SSL_CTX_set1_groups_list(made, "X25519:P-256");
  SSL_CTX_set_options(made, SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_clear_options(made, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
  SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(made, 0);
  SSL_CTX_set_max_cert_list(made, kServersCertificatesMax);
  SSL_CTX_set_mode(made, SSL_MODE_RELEASE_BUFFERS);  // connections in their handshake then hold little
  SSL_CTX_set_cert_verify_callback(made, judge, nullptr);
  return context;
}

void trust_issuer(SSL_CTX* context, const std::string& file) {
  read_public_file(file, "file of certificates", 16u << 20);  // throws if the file cannot be read
  if (SSL_CTX_load_verify_file(context, file.c_str()) != 1) {
    crypto_error();
    throw ConnectionError("cannot use the file of certificates " + file + ": it holds none in PEM");
  }
  // Trusts every certificate in the file, even one that is signed by another authority.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
}

}  // namespace

void FreeSslContext::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

TlsClient::TlsClient(const TlsTrust& trust)
    : pin_(trust.pin), checks_chain_(!trust.ca_file.empty()), context_(make_context(TLS_client_method())) {
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  if (checks_chain_) trust_issuer(context_.get(), trust.ca_file);
  if (!trust.certificate_file.empty()) {
    use_certificate(context_.get(), trust.certificate_file,
                    trust.key_file.empty() ? trust.certificate_file : trust.key_file);
  }
}

std::unique_ptr<TlsConnection> TlsClient::wrap(std::unique_ptr<StreamConnection> stream, const Address& server) const {
  return std::make_unique<TlsConnection>(context_.get(), std::move(stream),
                                         TlsConnection::Demand{true, checks_chain_, server.host, pin_});
}

TlsServer::TlsServer(const TlsServerFiles& files)
    : asks_for_certificates_(!files.client_ca.empty()), context_(make_context(TLS_server_method())) {
  pin_ = files.certificate.empty() ? use_new_certificate(context_.get(), files.host_names)
                                   : use_certificate(context_.get(), files.certificate, files.key);
  if (!asks_for_certificates_) return;
  SSL_CTX_set_max_cert_list(context_.get(), kClientsCertificatesMax);
  trust_issuer(context_.get(), files.client_ca);
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
}

std::unique_ptr<TlsConnection> TlsServer::wrap(std::unique_ptr<StreamConnection> stream) const {
  return std::make_unique<TlsConnection>(context_.get(), std::move(stream),
                                         TlsConnection::Demand{false, asks_for_certificates_, {}, {}});
}

}  // namespace remotecl
