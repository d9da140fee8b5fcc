#pragma once

#include <optional>
#include <string>

#include "runtime/crypto/key_pin.h"

namespace remotecl {

// How a client authenticates a server, and itself. With neither pin nor ca_file there is no TLS. A value.
struct TlsTrust {
  std::optional<KeyPin> pin;  // of the server's key
  std::string ca_file;  // PEM: the authority that signed the server's certificate, which must be for the server's name
  std::string certificate_file;  // the client's own; empty: none
  std::string key_file;          // empty: it is in certificate_file

  bool is_wanted() const { return pin.has_value() || !ca_file.empty(); }
};

}  // namespace remotecl
