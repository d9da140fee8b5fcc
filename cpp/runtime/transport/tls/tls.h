#pragma once

#include <memory>
#include <optional>
#include <string>

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
  // Reads the files. Throws ConnectionError that names cause and remedy.
  explicit TlsClient(const TlsTrust& trust);
  std::unique_ptr<TlsConnection> wrap(std::unique_ptr<StreamConnection> stream, const Address& server) const;

 private:
  const std::optional<KeyPin> pin_;
  const bool checks_chain_;
  SslContext context_;
};

struct TlsServerFiles {
  std::string certificate;  // empty: one for these names and a new key, as long as the server lives
  std::string key;
  std::string client_ca;  // PEM: whoever signs clients' certificates; empty: clients need none
  std::vector<std::string> host_names = {};
};

// The accepting side. Any thread.
class TlsServer {
 public:
  // Reads the files. Throws ConnectionError that names cause and remedy.
  explicit TlsServer(const TlsServerFiles& files);
  std::unique_ptr<TlsConnection> wrap(std::unique_ptr<StreamConnection> stream) const;

  const KeyPin& pin() const { return pin_; }
  // Clients have to show a certificate. Whether one is there, and is good, is for the handshake to say.
  bool asks_for_certificates() const { return asks_for_certificates_; }

 private:
  const bool asks_for_certificates_;
  SslContext context_;
  KeyPin pin_{};
};

}  // namespace remotecl
