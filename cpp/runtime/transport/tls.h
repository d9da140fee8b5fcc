#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/transport/address.h"
#include "runtime/transport/tls_connection.h"

namespace remotecl {

// How a client is sure of a server, and shows who it is itself. With neither pin nor ca_file: not at all. A value.
struct TlsTrust {
  std::optional<KeyPin> pin;     // of the server's key
  std::string ca_file;           // PEM: whoever has signed the server's certificate, which is for the server's name
  std::string certificate_file;  // the client's own; empty: none
  std::string key_file;

  bool is_wanted() const { return pin.has_value() || !ca_file.empty(); }
};

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
  std::string certificate;
  std::string key;
  std::string client_ca;  // PEM: whoever signs clients' certificates; empty: clients need none
};

// The accepting side. Any thread.
class TlsServer {
 public:
  // Reads the files. Throws ConnectionError that names cause and remedy.
  explicit TlsServer(const TlsServerFiles& files);
  std::unique_ptr<TlsConnection> wrap(std::unique_ptr<StreamConnection> stream) const;

  const KeyPin& pin() const { return pin_; }
  // Clients have to show a certificate. Whether one is there, and is good, is for the greeting to say.
  bool asks_for_certificates() const { return asks_for_certificates_; }

 private:
  const bool asks_for_certificates_;
  SslContext context_;
  KeyPin pin_{};
};

}  // namespace remotecl
