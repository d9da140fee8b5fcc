#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/transport/address.h"
#include "runtime/transport/tls/tls_connection.h"
#include "runtime/transport/tls/tls_trust.h"

namespace remotecl {

struct FreeSslContext {
  void operator()(ssl_ctx_st* context) const;
};
using SslContext = std::unique_ptr<ssl_ctx_st, FreeSslContext>;

// The connecting side of TLS, for any number of connections. Any thread.
class TlsClient {
 public:
  // Reads the files. Throws ConnectionError that names the cause and the remedy.
  explicit TlsClient(const TlsTrust& trust);
  std::unique_ptr<TlsConnection> wrap(std::unique_ptr<StreamConnection> stream, const Address& server) const;

 private:
  const std::optional<KeyPin> pin_;
  const bool checks_chain_;
  SslContext context_;
};

struct TlsServerFiles {
  std::string certificate;  // empty: use a new key and a certificate for these names, until the server ends
  std::string key;
  std::string client_ca;  // PEM: the authorities of clients' certificates; empty: clients need none
  std::vector<std::string> host_names = {};
};

// The accepting side. Any thread.
class TlsServer {
 public:
  // Reads the files. Throws ConnectionError that names the cause and the remedy.
  explicit TlsServer(const TlsServerFiles& files);
  std::unique_ptr<TlsConnection> wrap(std::unique_ptr<StreamConnection> stream) const;

  const KeyPin& pin() const { return pin_; }
  // Whether clients must present a certificate. The handshake checks it.
  bool asks_for_certificates() const { return asks_for_certificates_; }

 private:
  const bool asks_for_certificates_;
  SslContext context_;
  KeyPin pin_{};
};

}  // namespace remotecl
